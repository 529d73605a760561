"""The impact index against sums over dictionaries."""

import os
import resource
from collections import Counter
from itertools import pairwise

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import numpy_helper

from surecut.errors import Unscorable
from surecut.runners import LOCAL
from surecut.system.collection import Queries
from surecut.system.impacts import ImpactIndex, encode_documents
from surecut.system.isolating import read_reasons
from surecut.system.models.sparse import SparseEncoder, Weights
from surecut.system.retrievers import Splade, UniCoil, ready
from surecut.watching import Watch
from tests.system.making import SPECIAL, VOCABULARY, LastFirst, store, token_numbers

TEXTS = st.lists(
    st.dictionaries(st.integers(0, 12), st.sampled_from([0.5, 1.0, 1.5, 2.0]), max_size=6), min_size=1, max_size=15
)


def as_weights(bags):
    terms = [term for bag in bags for term in sorted(bag)]
    weights = [bag[term] for bag in bags for term in sorted(bag)]
    ends = np.cumsum([len(bag) for bag in bags])
    return Weights(ends, np.array(terms, np.int32), np.array(weights, np.float32))


def by_dictionaries(documents, query, k):
    sums = {number: sum(query[term] * bag.get(term, 0.0) for term in query) for number, bag in enumerate(documents)}
    found = [(score, number) for number, score in sums.items() if score > 0]
    return [(number, score) for score, number in sorted(found, reverse=True)][:k]


@settings(deadline=None)
@given(TEXTS, TEXTS, st.integers(1, 20))
def test_search_is_the_sum_over_shared_pieces(documents, queries, k):
    hits = ImpactIndex.of(as_weights(documents)).search(
        as_weights(queries), np.arange(len(documents), dtype=np.int32), k
    )
    for query, found in zip(queries, hits, strict=True):
        assert list(zip(found.documents.tolist(), found.scores.tolist(), strict=True)) == by_dictionaries(
            documents, query, k
        )


def test_an_index_of_empty_documents_finds_nothing():
    (hits,) = ImpactIndex.of(as_weights([{}, {}])).search(as_weights([{3: 1.0}]), np.arange(2, dtype=np.int32), 5)
    assert hits.documents.tolist() == []


@settings(max_examples=30, deadline=None)
@given(documents=TEXTS, queries=TEXTS)
def test_a_saved_index_is_the_same(documents, queries, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    index, ties = ImpactIndex.of(as_weights(documents)), np.arange(len(documents), dtype=np.int32)
    index.save(folder)
    both = zip(
        index.search(as_weights(queries), ties, 9),
        ImpactIndex.load(folder).search(as_weights(queries), ties, 9),
        strict=True,
    )
    assert all(one.documents.tolist() == other.documents.tolist() for one, other in both)


def unpacked(weights):
    starts = [0, *weights.ends.tolist()]
    return [
        dict(zip(weights.terms[low:high].tolist(), weights.weights[low:high].tolist(), strict=True))
        for low, high in pairwise(starts)
    ]


def test_unicoil_counts_a_repeated_word_once_in_documents_and_every_time_in_queries(models):
    by_word = numpy_helper.to_array(onnx.load(models.unicoil / "model.onnx").graph.initializer[0])[:, 0]
    text = "balak dalan balak fenok"
    counts = Counter(VOCABULARY[word] for word in text.split() if by_word[VOCABULARY[word]] > 0)
    encoder = UniCoil(str(models.unicoil)).of_documents
    assert unpacked(encoder.documents([text])) == [{number: pytest.approx(by_word[number]) for number in counts}]
    assert unpacked(encoder.queries([text])) == [
        {number: pytest.approx(count * by_word[number]) for number, count in counts.items()}
    ]
    assert counts[VOCABULARY["balak"]] == 2


def test_splade_takes_the_largest_log_weight_over_tokens(models):
    logits = numpy_helper.to_array(onnx.load(models.splade / "model.onnx").graph.initializer[0])
    text = "balak dalan fenok"
    expected = np.log1p(np.maximum(logits[token_numbers(text)[0]], 0)).max(axis=0)
    expected[: len(SPECIAL)] = 0
    (found,) = unpacked(Splade(str(models.splade)).of_documents.documents([text]))
    assert found == {number: pytest.approx(expected[number]) for number in np.flatnonzero(expected)}


@pytest.mark.parametrize("kind", [UniCoil, Splade])
def test_sparse_retrieval_is_the_sum_of_products(models, collection, kind):
    folder = models.unicoil if kind is UniCoil else models.splade
    retriever = kind(str(folder))
    ready(retriever, collection.documents)
    documents = unpacked(retriever.of_documents.documents(collection.documents.texts.take(range(300))))
    queries = unpacked(retriever.of_queries.queries(collection.queries.texts))
    for query, hits in zip(queries, retriever.search(collection.queries, 20), strict=True):
        expected = by_dictionaries(documents, query, 20)
        assert hits.scores == pytest.approx([score for _, score in expected], rel=1e-5)


def test_sparse_ties_go_by_id_descending(models, tmp_path):
    documents = store(tmp_path / "store", [(f"d{number}", "balak") for number in range(12)])
    retriever = Splade(str(models.splade))
    ready(retriever, documents)
    (hits,) = retriever.search(Queries(["q"], ["balak"]), 3)
    assert documents.ids.take(hits.documents) == ["d9", "d8", "d7"]


class Stopper(Watch):
    """Interrupts after the second block."""

    def __init__(self):
        self.blocks = 0

    def advance(self, units, pairs=0):
        self.blocks += 1
        if self.blocks == 2:
            raise KeyboardInterrupt


def test_interrupted_weighing_goes_on_where_it_was(models, collection, tmp_path, monkeypatch):
    counted, encode = [], SparseEncoder.documents
    monkeypatch.setattr(
        SparseEncoder, "documents", lambda self, texts: counted.append(len(texts)) or encode(self, texts)
    )
    monkeypatch.setattr("surecut.system.blocks._SIZE", 64)
    model = Splade(str(models.splade))
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    whole = encode_documents(model, collection.documents, tmp_path / "one")
    with pytest.raises(KeyboardInterrupt):
        encode_documents(model, collection.documents, tmp_path / "two", Stopper())
    counted.clear()
    resumed = encode_documents(model, collection.documents, tmp_path / "two")
    assert sum(counted) == 300 - 2 * 64
    assert all(
        getattr(whole, name).tobytes() == getattr(resumed, name).tobytes() for name in ("ends", "terms", "weights")
    )


@pytest.mark.parametrize("runner", [LOCAL, LastFirst()], ids=["in turn", "last first"])
def test_a_model_that_is_broken_leaves_no_document_marked(models, collection, tmp_path, monkeypatch, runner):
    monkeypatch.setattr("surecut.system.blocks._SIZE", 59)  # 300 documents: five are left over
    model = Splade(str(models.splade))
    with monkeypatch.context() as broken:
        broken.setattr(SparseEncoder, "documents", without_device)
        with pytest.raises(Unscorable, match="no device"):
            encode_documents(model, collection.documents, tmp_path, runner=runner)
    mended = encode_documents(model, collection.documents, tmp_path, runner=runner)
    assert (np.diff(mended.ends, prepend=0) > 0).all()
    assert read_reasons(tmp_path) == {}


def without_device(*_):
    raise Unscorable("no device")


def test_a_disk_that_is_full_when_the_index_is_saved_loses_no_weights(models, collection, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    retriever = Splade(str(models.splade))
    monkeypatch.setattr(ImpactIndex, "save", full)
    with pytest.raises(OSError, match="No space"):
        retriever.index(collection.documents, tmp_path)
    assert list(tmp_path.glob("weights-*.npz"))


def test_more_blocks_than_files_may_be_open_are_put_together(models, collection, tmp_path, monkeypatch):
    monkeypatch.setattr("surecut.system.blocks._SIZE", 1)
    model = Splade(str(models.splade))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 40, before[1]))
    try:
        weights = encode_documents(model, collection.documents, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert weights.ends.size == 300
