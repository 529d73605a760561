"""Model folders: how long a text they take, and what is no folder."""

import json

import pytest

from surecut import InputError
from surecut.system.models.folder import find_model


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
        ({"tokenizer_config": {"model_max_length": "many"}}, 512),
        ({"sentence_bert_config": {"max_seq_length": 256}, "tokenizer": {"truncation": {"max_length": 128}}}, 256),
        ({"tokenizer_config": {"model_max_length": 512}, "tokenizer": {"truncation": {"max_length": 128}}}, 512),
        ({"sentence_bert_config": {"max_seq_length": 512}, "config": {"max_position_embeddings": 64}}, 64),
    ],
)
def test_what_sentence_transformers_and_transformers_go_by_counts(folder, files, longest):
    """A cut that tokenizer.json was once saved with is the last to be asked."""
    assert find_model(str(folder(**files))).longest_text(None) == longest


def test_what_is_asked_for_comes_first(folder):
    files = folder(config={"max_position_embeddings": 512}, tokenizer_config={"model_max_length": 64})
    assert find_model(str(files)).longest_text(300) == 300


@pytest.mark.parametrize("asked", [7, 0, -1, 65])
def test_a_length_the_model_does_not_take_is_refused(folder, asked):
    with pytest.raises(InputError, match=rf"max_length = {asked}: .* takes between 8 and 64 tokens"):
        find_model(str(folder(config={"max_position_embeddings": 64}))).longest_text(asked)


def test_settings_that_are_no_json_are_named(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json: not readable as JSON"):
        find_model(str(tmp_path)).longest_text(None)


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "nowhere", "a/b/c"])
def test_a_folder_that_is_not_there_is_refused(name):
    with pytest.raises(InputError, match=f"{name}: no such model folder"):
        find_model(name)


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no weights; a model folder holds model\.onnx or model\.safetensors"):
        find_model(str(tmp_path)).fingerprint()


@pytest.mark.parametrize("name", ["onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx"])
def test_usual_places_of_an_onnx_file_are_known(tmp_path, name):
    assert find_model(str(tmp_path)).graph is None
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"graph")
    assert find_model(str(tmp_path)).graph == tmp_path / name


def test_an_onnx_file_may_be_named_and_must_be_there(tmp_path):
    (tmp_path / "model_O3.onnx").write_bytes(b"graph")
    assert find_model(str(tmp_path), "model_O3.onnx").graph == tmp_path / "model_O3.onnx"
    with pytest.raises(InputError, match=r"model_O4\.onnx: no such file"):
        find_model(str(tmp_path), "model_O4.onnx")


def test_an_empty_onnx_file_is_named(tmp_path):
    (tmp_path / "model.onnx").touch()
    with pytest.raises(InputError, match=r"model\.onnx: empty; was it downloaded to the end\?"):
        find_model(str(tmp_path))


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub whose one model has been fetched before, ONNX file and all; what is asked of it is kept."""
    library = pytest.importorskip("huggingface_hub")
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"graph")
    asked = []

    def snapshot_download(name, **options):
        asked.append((name, options))
        return str(tmp_path)

    monkeypatch.setattr(library, "snapshot_download", snapshot_download)
    return asked


def test_a_model_of_the_hub_runs_on_onnx_only_if_a_file_is_named(hub, tmp_path):
    """Else it would depend on what another recipe has fetched."""
    assert find_model("owner/model").graph is None
    assert find_model("owner/model", "onnx/model.onnx").graph == tmp_path / "onnx" / "model.onnx"
    without, with_file = (options["ignore_patterns"] for _, options in hub)
    assert "*.onnx" in without
    assert "*.onnx" not in with_file


def test_of_a_tokenizer_on_the_hub_no_weights_are_fetched(hub, tmp_path):
    folder = tmp_path / "onnx"
    assert find_model(str(folder), tokenizer="owner/words").words == tmp_path
    assert hub == [("owner/words", {"allow_patterns": ("*.json", "*.txt", "*.model"), "ignore_patterns": None})]
