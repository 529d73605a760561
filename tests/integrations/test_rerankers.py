"""The rerankers library: results, metadata, async, and rankers that a certificate is not about."""

import asyncio

import pytest
from rerankers.documents import Document

from surecut import InputError
from surecut.integrations.rerankers import Prune
from tests.integrations.adapters import Ranking


def documents_of(each):
    return [Document(text, name, {"page": 7}) for text, name in zip(each.texts, each.ids, strict=True)]


def test_results_are_the_librarys_own(asked, pairs, certificates, expected):
    each = asked[0]
    found = Prune(certificates.both, Ranking(pairs)).rank(each.query, documents_of(each), scores=each.scores)
    listed = expected(certificates.both, each)
    assert [result.doc_id for result in found] == [name for name, _ in listed]
    assert [result.rank for result in found] == list(range(1, len(each.ids) + 1))
    assert all(result.document.metadata == {"page": 7} for result in found)
    assert [result.doc_id for result in found.top_k(3)] == [name for name, _ in listed[:3]]
    assert found.get_score_by_docid(listed[0][0]) == pytest.approx(listed[0][1])
    assert found.query == each.query


def test_plain_strings_and_ids_will_do(asked, pairs, certificates):
    each, prune = asked[0], Prune(certificates.plain, Ranking(pairs))
    named = prune.rank(each.query, each.texts, doc_ids=each.ids, scores=each.scores)
    assert [result.doc_id for result in named] == [
        result.doc_id for result in prune.rank(each.query, documents_of(each), scores=each.scores)
    ]
    unnamed = prune.rank(each.query, each.texts, scores=each.scores)
    assert {result.doc_id for result in unnamed} == set(range(unnamed.results_count()))


def test_only_survivors_are_ranked(asked, pairs, certificates):
    ranker = Ranking(pairs)
    prune = Prune(certificates.plain, ranker)
    found = prune.rank_many(
        [each.query for each in asked[:5]],
        [documents_of(each) for each in asked[:5]],
        scores=[each.scores for each in asked[:5]],
    )
    assert ranker.seen == sum(result.results_count() for result in found)
    assert ranker.seen == sum(certificates.plain.keep(each.scores) for each in asked[:5])


def test_async_is_the_same(asked, pairs, certificates):
    prune = Prune(certificates.fused, Ranking(pairs))

    async def every():
        return await asyncio.gather(
            *(prune.rank_async(each.query, documents_of(each), scores=each.scores) for each in asked[:4])
        )

    for each, found in zip(asked[:4], asyncio.run(every()), strict=True):
        alone = prune.rank(each.query, documents_of(each), scores=each.scores)
        assert [(result.doc_id, result.score) for result in found] == [
            (result.doc_id, result.score) for result in alone
        ]


def test_a_ranker_that_looks_at_the_whole_list_is_refused(asked, pairs, certificates):
    each = asked[0]
    with pytest.raises(InputError, match="score each document by itself"):
        Prune(certificates.plain, Ranking(pairs, has_scores=False)).rank(
            each.query, documents_of(each), scores=each.scores
        )


def test_a_ranker_that_loses_documents_is_refused(asked, pairs, certificates):
    class Losing(Ranking):
        def rank(self, query, docs, doc_ids=None):
            found = super().rank(query, docs)
            found.results.pop()
            return found

    each = asked[0]
    with pytest.raises(InputError, match="a score for every document"):
        Prune(certificates.plain, Losing(pairs)).rank(each.query, documents_of(each), scores=each.scores)


def test_a_ranker_that_returns_more_than_it_got_is_refused(asked, pairs, certificates):
    class Doubling(Ranking):
        def rank(self, query, docs, doc_ids=None):
            return super().rank(query, [*docs, *docs])

    each = asked[0]
    with pytest.raises(InputError, match=r"results for \d+ documents"):
        Prune(certificates.plain, Doubling(pairs)).rank(each.query, documents_of(each), scores=each.scores)
    with pytest.raises(InputError, match="a ranker is expected"):
        Prune(certificates.plain, None)


def test_what_is_missing_is_said(asked, pairs, certificates):
    with pytest.raises(InputError, match="scores="):
        Prune(certificates.plain, Ranking(pairs)).rank("a", ["b"])


def test_batches_take_ids(asked, pairs, certificates):
    prune, chosen = Prune(certificates.plain, Ranking(pairs)), asked[:3]
    found = prune.rank_many(
        [each.query for each in chosen],
        [each.texts for each in chosen],
        [each.ids for each in chosen],
        scores=[each.scores for each in chosen],
    )
    for each, results in zip(chosen, found, strict=True):
        alone = prune.rank(each.query, documents_of(each), scores=each.scores)
        assert [result.doc_id for result in results] == [result.doc_id for result in alone]
    with pytest.raises(InputError, match="1 of ids"):
        prune.rank_many(["a", "b"], [["c"], ["d"]], [["e"]], scores=[[1.0], [2.0]])


def test_copies_of_documents_are_known_by_their_ids(asked, pairs, certificates):
    class Copying(Ranking):
        def rank(self, query, docs, doc_ids=None):
            return super().rank(query, [Document(each.text, each.doc_id, each.metadata) for each in docs])

    each = asked[0]
    prune, copying = Prune(certificates.plain, Ranking(pairs)), Prune(certificates.plain, Copying(pairs))
    given = documents_of(each)
    assert [result.doc_id for result in copying.rank(each.query, given, scores=each.scores)] == [
        result.doc_id for result in prune.rank(each.query, given, scores=each.scores)
    ]
    with pytest.raises(InputError, match="a score for every document"):  # without ids, nobody can tell them apart
        copying.rank(each.query, [Document(text) for text in each.texts], scores=each.scores)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"doc_ids": ["a"]}, "2 documents and 1 doc_ids"),
        ({"metadata": [{}]}, "2 documents and 1 metadata"),
        ({"docs": ["a", Document("b")]}, "not some of each"),
    ],
)
def test_what_does_not_fit_is_said(given, said, pairs, certificates):
    docs = given.pop("docs", ["a", "b"])
    with pytest.raises(InputError, match=said):
        Prune(certificates.plain, Ranking(pairs)).rank("q", docs, scores=[2.0, 1.0], **given)
