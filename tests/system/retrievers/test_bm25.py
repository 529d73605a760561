"""BM25 against Lucene's formula written out, with the order of ties that trec_eval has."""

import math
import re
from collections import Counter

import numpy as np
import pytest
import Stemmer
from bm25s.stopwords import STOPWORDS_EN

from surecut import InputError
from surecut.system.collection import Queries
from surecut.system.retrievers import BM25, ready
from tests.system.making import store, texts


def asked(*queries):
    return Queries([f"q{number}" for number in range(len(queries))], list(queries))


def by_formula(documents, query, k1, b):
    """score(q, d) = sum of idf(t) * tf / (tf + k1 * (1 - b + b * |d| / mean |d|)), of documents that share a word."""
    stem = Stemmer.Stemmer("english").stemWord

    def words(text):
        found = re.findall(r"\b\w\w+\b", text.lower())
        return [stem(word) for word in found if word not in STOPWORDS_EN]

    counted = [Counter(words(document)) for document in documents]
    lengths = [sum(each.values()) for each in counted]
    mean = sum(lengths) / len(lengths)
    scores = {}
    for number, (count, length) in enumerate(zip(counted, lengths, strict=True)):
        for word in words(query):
            holders = sum(word in each for each in counted)
            idf = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
            part = idf * count[word] / (count[word] + k1 * (1 - b + b * length / mean)) if count[word] else 0.0
            scores[number] = scores.get(number, 0.0) + part
    return {number: score for number, score in scores.items() if score > 0}


ENGLISH = [
    "The quick brown foxes are jumping over the lazy dog",
    "A fox jumped; the dogs slept, and slept.",
    "Running runners run: ran",
    "dogs dogs dogs",
    "Nothing in common at all",
    "The the the and of",
    "Jump, fox!",
]


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.2, 0.75), (2.0, 0.0), (0.5, 1.0)])
def test_scores_are_lucenes(tmp_path, k1, b):
    documents = [*texts(120, seed=4), *ENGLISH[:5]]
    retriever = BM25(k1=k1, b=b)
    ready(retriever, store(tmp_path, documents))
    queries = [*texts(10, seed=5, longest=6), "jumping foxes", "dog dog runner", "The sleeping dogs"]
    for query, hits in zip(queries, retriever.search(asked(*queries), 999), strict=True):
        expected = by_formula(documents, query, k1, b)
        assert set(hits.documents.tolist()) == set(expected)
        assert hits.scores == pytest.approx([expected[number] for number in hits.documents], rel=1e-5)
        assert np.all(np.diff(hits.scores) <= 0)


def test_ties_go_by_id_descending_in_bytes_also_at_the_cut_off(tmp_path):
    ids = ["d9", "d10", "é", "Z", "z", "a", "d1", "ä"]
    retriever = BM25()
    ready(retriever, store(tmp_path, [(each, "balak common") for each in ids] + [("other", "something else")]))
    expected = sorted(ids, key=str.encode, reverse=True)
    for k in (1, 3, 8, 20):
        (hits,) = retriever.search(asked("balak"), k)
        assert [([*ids, "other"])[number] for number in hits.documents] == expected[:k]


def test_real_ties_in_a_collection_are_in_order(collection):
    retriever = BM25()
    ready(retriever, collection.documents)
    tied = 0
    for hits in retriever.search(collection.queries, 50):
        ids = collection.documents.ids.take(hits.documents)
        keys = [(score, name.encode()) for score, name in zip(hits.scores, ids, strict=True)]
        assert keys == sorted(keys, reverse=True)
        tied += len(keys) - len(set(hits.scores.tolist()))
    assert tied > 100


def test_documents_that_share_no_word_are_not_returned(tmp_path):
    retriever = BM25()
    ready(retriever, store(tmp_path, ENGLISH))
    (hits,) = retriever.search(asked("lazy"), 100)
    assert hits.documents.tolist() == [0]


@pytest.mark.parametrize("query", ["the and of", "xyzzy", "?!", "a b c", "xyzzy the"])
def test_a_query_without_a_known_word_finds_nothing(tmp_path, query):
    retriever = BM25()
    ready(retriever, store(tmp_path, [*ENGLISH, ""]))
    (hits,) = retriever.search(asked(query), 100)
    assert hits.documents.tolist() == []


def test_an_unknown_word_is_harmless(tmp_path):
    retriever = BM25()
    ready(retriever, store(tmp_path, ENGLISH))
    alone, with_unknown = retriever.search(asked("fox", "xyzzy fox plugh"), 100)
    assert alone.documents.tolist() == with_unknown.documents.tolist()
    assert alone.scores.tolist() == with_unknown.scores.tolist()


def test_one_query_at_a_time_gives_the_same(collection):
    retriever = BM25()
    ready(retriever, collection.documents)
    together = retriever.search(collection.queries, 20)
    for place in (0, 7, 30):
        (alone,) = retriever.search(collection.queries[place : place + 1], 20)
        assert alone.documents.tolist() == together[place].documents.tolist()
        assert alone.scores.tobytes() == together[place].scores.tobytes()


def test_a_saved_index_is_mapped_and_gives_the_same(collection, tmp_path):
    made, loaded = BM25(), BM25()
    ready(made, collection.documents)
    folder = tmp_path / "index"
    folder.mkdir()
    made.index(collection.documents, folder)
    loaded.load(folder, collection.documents)
    assert isinstance(loaded._index.scores["data"], np.memmap)
    for one, other in zip(made.search(collection.queries, 30), loaded.search(collection.queries, 30), strict=True):
        assert one.documents.tolist() == other.documents.tolist()
        assert one.scores.tobytes() == other.scores.tobytes()


def test_stemming_and_stop_words_can_be_left_out(tmp_path):
    documents = store(tmp_path, ENGLISH)
    plain = BM25(stemmer="none", stopwords="none")
    ready(plain, documents)
    jumping, the = plain.search(asked("jumping", "the"), 100)
    assert jumping.documents.tolist() == [0]
    assert set(the.documents.tolist()) == {0, 1, 5}


def test_every_option_is_in_the_fingerprint():
    kinds = [BM25(), BM25(k1=1.0), BM25(b=0.5), BM25(stemmer="none"), BM25(stopwords="none"), BM25(stemmer="german")]
    assert len({each.fingerprint for each in kinds}) == len(kinds)
    assert BM25(k1=0.9).fingerprint == BM25().fingerprint


@pytest.mark.parametrize("options", [{"k1": -0.1}, {"b": 1.1}, {"b": -0.1}, {"b": math.nan}])
def test_parameters_out_of_range_are_refused(options):
    with pytest.raises(InputError, match="k1 of at least 0 and b between 0 and 1"):
        BM25(**options)


@pytest.mark.parametrize("k1", [math.nan, math.inf])
def test_a_parameter_that_is_no_number_is_refused(k1):
    with pytest.raises(InputError, match="k1"):
        BM25(k1=k1)


@pytest.mark.parametrize(
    ("options", "said"), [({"stemmer": "klingon"}, "stemmer 'klingon'"), ({"stopwords": "klingon"}, "klingon")]
)
def test_an_unknown_language_is_refused(collection, options, said):
    with pytest.raises(InputError, match=said):
        ready(BM25(**options), collection.documents)
