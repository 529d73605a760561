"""Model folders: how long a text they take, and what is no folder."""

import json

import pytest

from surecut import InputError
from surecut.system.models.folder import find_model, fingerprint, longest_text


@pytest.fixture
def folder(tmp_path):
    """Write settings files."""

    def write(**files):
        for name, content in files.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(content))
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("files", "longest"),
    [
        ({}, 512),
        ({"config": {"max_position_embeddings": 64}}, 64),
        ({"config": {"max_position_embeddings": 514, "model_type": "roberta"}}, 512),
        ({"config": {"max_position_embeddings": 512}, "sentence_bert_config": {"max_seq_length": 128}}, 128),
        ({"tokenizer": {"truncation": {"max_length": 100}}}, 100),
        ({"tokenizer": {"truncation": None}, "tokenizer_config": {"model_max_length": 10**30}}, 512),
        ({"tokenizer_config": {"model_max_length": 256}}, 256),
    ],
)
def test_the_shortest_of_what_the_files_say_counts(folder, files, longest):
    assert longest_text(folder(**files), None) == longest


def test_what_is_asked_for_comes_first(folder):
    assert (
        longest_text(folder(config={"max_position_embeddings": 512}, tokenizer_config={"model_max_length": 64}), 300)
        == 300
    )


@pytest.mark.parametrize("asked", [7, 0, -1, 65])
def test_a_length_the_model_does_not_take_is_refused(folder, asked):
    with pytest.raises(InputError, match=rf"max_length = {asked}: .* takes between 8 and 64 tokens"):
        longest_text(folder(config={"max_position_embeddings": 64}), asked)


def test_settings_that_are_no_json_are_named(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json: not readable as JSON"):
        longest_text(tmp_path, None)


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "nowhere", "a/b/c"])
def test_a_folder_that_is_not_there_is_refused(name):
    with pytest.raises(InputError, match=f"{name}: no such model folder"):
        find_model(name)


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no weights; a model folder holds model\.onnx or model\.safetensors"):
        fingerprint(tmp_path)
