"""Vectors on disk: made block by block, taken up where they were left."""

import os

import numpy as np
import pytest

from surecut import InputError
from surecut.errors import Unscorable
from surecut.system.retrievers import Dense
from surecut.system.vectors import document_vectors, encode_documents
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
    encode_documents(encoder, collection.documents)
    vectors = document_vectors(encoder, collection.documents).rows
    assert isinstance(vectors, np.memmap)
    assert vectors.shape == (300, 32)
    assert vectors[5:7] == pytest.approx(encoder.documents(collection.documents.texts.take([5, 6])), rel=1e-5)


@pytest.mark.parametrize("torn", ["", "\n128 1", "\n128 16"])  # of what is noted when a block is there
def test_an_interrupted_encoding_goes_on_to_the_same_bytes(encoder, collection, cache, tmp_path, monkeypatch, torn):
    encode_documents(encoder, collection.documents)
    whole = next(cache.glob(PLACE)).read_bytes()
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "other"))
    with pytest.raises(KeyboardInterrupt):
        encode_documents(encoder, collection.documents, Stopper(after=100))
    with next((tmp_path / "other").glob("vectors/*/encoded.txt")).open("a") as there:
        there.write(torn)
    going_on = Stopper(after=1000)
    encode_documents(encoder, collection.documents, going_on)
    assert going_on.there_already == 128
    assert next((tmp_path / "other").glob(PLACE)).read_bytes() == whole


@pytest.mark.parametrize(("left", "there"), [(0, 0), (70 * 32 * 4, 64), (None, 0)])  # of the vectors; None: no file
def test_what_is_noted_counts_as_far_as_the_vectors_reach(
    encoder, collection, cache, monkeypatch, tmp_path, left, there
):
    encode_documents(encoder, collection.documents)
    whole = next(cache.glob(PLACE)).read_bytes()
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "other"))
    with pytest.raises(KeyboardInterrupt):
        encode_documents(encoder, collection.documents, Stopper(after=100))
    vectors = next((tmp_path / "other").glob(PLACE))
    if left is None:
        vectors.unlink()
    else:
        os.truncate(vectors, left)
    going_on = Stopper(after=1000)
    encode_documents(encoder, collection.documents, going_on)
    assert going_on.there_already == there
    assert vectors.read_bytes() == whole


@pytest.mark.parametrize("bad", [range(32), range(96, 128), range(288, 300)], ids=str)
def test_a_block_of_which_nothing_can_be_encoded_has_no_vectors(encoder, collection, monkeypatch, bad):
    texts, encode = set(collection.documents.texts.take(bad)), Dense.documents

    def some(self, given):
        if texts & set(given):
            raise Unscorable("gave nan")
        return encode(self, given)

    monkeypatch.setattr(Dense, "documents", some)
    encode_documents(encoder, collection.documents)
    vectors = document_vectors(encoder, collection.documents)
    assert set(bad) <= set(vectors.reasons)  # one text in ten is there twice
    assert vectors.rows.shape == (300, 32)
    assert not vectors.rows[vectors.failed].any()
    assert vectors.rows[sorted(set(range(300)) - set(vectors.reasons))].any(axis=1).all()


def test_blocks_may_come_in_any_order(encoder, collection, cache, tmp_path, monkeypatch):
    encode_documents(encoder, collection.documents)
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "other"))
    encode_documents(encoder, collection.documents, runner=LastFirst())
    assert next((tmp_path / "other").glob(PLACE)).read_bytes() == next(cache.glob(PLACE)).read_bytes()


def test_vectors_are_shared_by_whoever_has_the_same_encoder(encoder, models, collection, cache):
    encode_documents(encoder, collection.documents)
    encode_documents(Dense(str(models.bi), pooling="mean", query_prefix="q: "), collection.documents, Stopper(after=1))
    assert len(list(cache.glob(PLACE))) == 1


def test_encoders_of_different_widths_are_noticed_before_the_documents_are_encoded(models, collection, cache):
    mixed = Dense(str(models.bi), query_model=str(models.splade), pooling="mean")
    for _ in range(2):  # the first finds no vectors, the second those of the same documents' encoder
        with pytest.raises(InputError, match=r"of \d+ numbers and .* of 32: query_model and model do not belong"):
            encode_documents(mixed, collection.documents)
        encode_documents(Dense(str(models.bi), pooling="mean"), collection.documents)
