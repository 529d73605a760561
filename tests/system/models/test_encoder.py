"""Bi-encoders: pooling, prefixes and normalisation, against onnxruntime's own states."""

import json

import numpy as np
import pytest

from surecut import InputError
from surecut.system.models.encoder import BiEncoder
from tests.system.making import bi_encoder, raw_outputs, texts, token_numbers

TEXTS = texts(30, seed=8)
POOLS = {
    "cls": lambda states: states[0],
    "mean": lambda states: states.mean(axis=0),
    "max": lambda states: states.max(axis=0),
}


def states(folder, text):
    return raw_outputs(folder / "model.onnx", [token_numbers(text)])[0]


@pytest.mark.parametrize("pooling", POOLS)
def test_vectors_are_pooled_states(models, pooling):
    expected = [POOLS[pooling](states(models.bi, text)) for text in TEXTS]
    assert BiEncoder(str(models.bi), pooling=pooling).documents(TEXTS) == pytest.approx(
        np.array(expected), rel=1e-4, abs=1e-5
    )


def test_normalised_vectors_have_length_one(models):
    plain, unit = (BiEncoder(str(models.bi), pooling="mean", normalise=each) for each in (False, True))
    lengths = np.linalg.norm(plain.queries(TEXTS), axis=1, keepdims=True)
    assert unit.queries(TEXTS) == pytest.approx(plain.queries(TEXTS) / lengths, rel=1e-5, abs=1e-6)


def test_a_sentence_transformers_folder_says_how_to_pool_and_normalise(tmp_path):
    folder = bi_encoder(tmp_path / "bi")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Normalize"}]))
    expected = BiEncoder(str(folder), pooling="cls", normalise=True).queries(TEXTS)
    assert BiEncoder(str(folder)).queries(TEXTS).tobytes() == expected.tobytes()


def test_a_folder_that_does_not_say_how_to_pool_is_refused(models):
    with pytest.raises(InputError, match='does not say how to pool its states; set pooling = "cls" or "mean"'):
        BiEncoder(str(models.bi)).queries(["balak"])


def test_long_texts_are_cut(models):
    short = BiEncoder(str(models.bi), pooling="mean", max_length=10)
    words = " ".join(TEXTS).split()
    assert short.queries([" ".join(words)]).tobytes() == short.queries([" ".join(words[:8])]).tobytes()


def test_a_vector_does_not_depend_on_its_company(models):
    encoder = BiEncoder(str(models.bi), pooling="mean")
    together = encoder.queries(TEXTS)
    alone = np.concatenate([encoder.queries([text]) for text in TEXTS])
    assert together == pytest.approx(alone, rel=1e-5, abs=1e-6)
