"""Vectors on disk: made block by block, taken up where they were left."""

import numpy as np
import pytest

from surecut import InputError
from surecut.system.retrievers import Dense
from surecut.system.vectors import document_vectors
from surecut.watching import Watch
from tests.system.making import LastFirst

PLACE = "vectors/*/vectors.f32"


class Stopper(Watch):
    """Interrupts after so many documents; remembers how many were there at the start."""

    def __init__(self, after):
        self.after = after
        self.there_already = None

    def stage(self, what, total=None, done=0):
        self.there_already = done

    def advance(self, units, pairs=0):
        self.after -= units
        if self.after <= 0:
            raise KeyboardInterrupt


@pytest.fixture
def encoder(models):
    return Dense(str(models.bi), pooling="mean")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("surecut.system.blocks._SIZE", 32)


def test_rows_are_the_documents_vectors(encoder, collection):
    vectors = document_vectors(encoder, collection.documents).rows
    assert isinstance(vectors, np.memmap)
    assert vectors.shape == (300, 32)
    assert vectors[5:7] == pytest.approx(encoder.documents(collection.documents.texts.take([5, 6])), rel=1e-5)


@pytest.mark.parametrize("torn", ["", "\n128 1", "\n128 16"])  # of what is noted when a block is there
def test_an_interrupted_encoding_goes_on_to_the_same_bytes(encoder, collection, cache, tmp_path, monkeypatch, torn):
    document_vectors(encoder, collection.documents)
    whole = next(cache.glob(PLACE)).read_bytes()
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "other"))
    with pytest.raises(KeyboardInterrupt):
        document_vectors(encoder, collection.documents, Stopper(after=100))
    with next((tmp_path / "other").glob("vectors/*/encoded.txt")).open("a") as there:
        there.write(torn)
    going_on = Stopper(after=1000)
    document_vectors(encoder, collection.documents, going_on)
    assert going_on.there_already == 128
    assert next((tmp_path / "other").glob(PLACE)).read_bytes() == whole


def test_blocks_may_come_in_any_order(encoder, collection, cache, tmp_path, monkeypatch):
    document_vectors(encoder, collection.documents)
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "other"))
    document_vectors(encoder, collection.documents, runner=LastFirst())
    assert next((tmp_path / "other").glob(PLACE)).read_bytes() == next(cache.glob(PLACE)).read_bytes()


def test_vectors_are_shared_by_whoever_has_the_same_encoder(encoder, models, collection, cache):
    document_vectors(encoder, collection.documents)
    document_vectors(Dense(str(models.bi), pooling="mean", query_prefix="q: "), collection.documents, Stopper(after=1))
    assert len(list(cache.glob(PLACE))) == 1


def test_encoders_of_different_widths_are_noticed_before_the_documents_are_encoded(models, collection, cache):
    mixed = Dense(str(models.bi), query_model=str(models.splade), pooling="mean")
    for _ in range(2):  # the first finds no vectors, the second those of the same documents' encoder
        with pytest.raises(InputError, match=r"of \d+ numbers and .* of 32: query_model and model do not belong"):
            document_vectors(mixed, collection.documents)
        document_vectors(Dense(str(models.bi), pooling="mean"), collection.documents)
