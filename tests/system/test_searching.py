"""The first stage, group by group: each is searched for once, and kept until the table is whole."""

import shutil

import numpy as np
import pytest

from surecut.errors import Unscorable
from surecut.system.recipe import read_recipe
from surecut.system.retrievers import BM25, indexed
from surecut.system.scoring import score
from surecut.system.searching import Found, Searcher, found_file, search_groups
from surecut.system.topk import Hits
from tests.system.making import After, LastFirst, contents, in_small_blocks, stop


@pytest.fixture
def searches(monkeypatch):
    """The queries of every search, as they are made."""
    made, search = [], BM25.search

    def noted(self, queries, k):
        made.append(list(queries.ids))
        return search(self, queries, k)

    monkeypatch.setattr(BM25, "search", noted)
    return made


@pytest.fixture
def small_groups(monkeypatch):
    monkeypatch.setattr("surecut.system.growing._QUERIES_PER_SEARCH", 30)


def hits(*numbers):
    return Hits(np.array(numbers, dtype=np.int64), np.array(numbers, dtype=np.float32) / 3)


def test_what_is_found_is_kept_to_the_last_bit(tmp_path):
    found = Found(range(11, 14), [hits(5, 2), hits(), hits(7)], {11: "gave nan", 13: "“no”"})
    found.save(tmp_path)
    again = Found.load(tmp_path, range(11, 14))
    assert [each.documents.tolist() for each in again.hits] == [[5, 2], [], [7]]
    assert all(a.scores.tobytes() == b.scores.tobytes() for a, b in zip(found.hits, again.hits, strict=True))
    assert all(each.scores.dtype == np.float32 and each.documents.dtype == np.int64 for each in again.hits)
    assert again.reasons == found.reasons
    last = again.about(range(12, 14))
    assert [each.documents.tolist() for each in last.hits] == [[], [7]]
    assert (last.group, last.reasons) == (range(12, 14), {13: "“no”"})


@pytest.mark.usefixtures("small_groups")
def test_every_group_is_searched_for_once_however_often_the_job_is_stopped(recipe, tmp_path, searches, cache):
    path = recipe()
    score(in_small_blocks(path), tmp_path / "whole")
    at_once = list(searches)
    assert sorted(query for group in at_once for query in group) == sorted({q for group in at_once for q in group})
    assert len(at_once) == 3
    searches.clear()
    for blocks in (1, 4):
        with pytest.raises(KeyboardInterrupt):
            score(in_small_blocks(path), tmp_path / "stopped", After(blocks, stop))
    assert list(cache.glob("found/*/*/*.npz"))
    score(in_small_blocks(path), tmp_path / "stopped")
    assert searches == at_once
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")
    assert not list(cache.glob("found/*"))


def test_what_was_found_and_is_damaged_is_named_with_what_to_do(recipe, tmp_path, cache):
    path = recipe()
    with pytest.raises(KeyboardInterrupt):
        score(in_small_blocks(path), tmp_path / "t", After(2, stop))
    for file in cache.glob("found/*/*/*.npz"):
        file.write_bytes(b"no longer")
    with pytest.raises(Exception, match=r"found.*: damaged .*; remove this folder, and it is built again"):
        score(in_small_blocks(path), tmp_path / "t")


@pytest.fixture
def searcher(recipe):
    made = read_recipe(recipe())
    documents, queries = made.collection.documents, made.collection.queries
    return Searcher(made.retriever, queries, documents.folder, indexed(made.retriever, documents), 10)


def failing_on(monkeypatch, *names):
    search = BM25.search

    def some(self, queries, k):
        if bad := [query for query in queries.ids if query in names]:
            raise Unscorable(f"cannot search for {bad[0]}")
        return search(self, queries, k)

    monkeypatch.setattr(BM25, "search", some)


def test_queries_that_cannot_be_searched_for_have_no_candidates(searcher, tmp_path, monkeypatch):
    ids = searcher.queries.ids
    failing_on(monkeypatch, *ids[10:20])  # all of the second group, which others go through beside
    search_groups(searcher, [range(10), range(10, 20)], tmp_path, runner=LastFirst())
    first, second = (Found.load(tmp_path, group) for group in (range(10), range(10, 20)))
    assert not first.reasons
    assert all(each.documents.size for each in first.hits)
    assert second.reasons == {number: f"cannot search for {ids[number]}" for number in range(10, 20)}
    assert not any(each.documents.size for each in second.hits)


def test_a_retriever_that_fails_on_everything_leaves_nothing_behind(searcher, tmp_path, monkeypatch):
    failing_on(monkeypatch, *searcher.queries.ids)
    with pytest.raises(
        Unscorable, match=f"goes through any more, since .*: cannot search for {searcher.queries.ids[0]}$"
    ):
        search_groups(searcher, [range(10)], tmp_path)
    assert not found_file(tmp_path, range(10)).exists()


def test_groups_that_end_their_worker_are_divided_and_joined(searcher):
    assert searcher.divided(range(4, 9)) == [range(4, 6), range(6, 9)]
    lost = [searcher.given_up(range(place, place + 1), "gone") for place in (4, 6)]
    joined = searcher.joined([lost[0], Found(range(5, 6), [hits(1)], {}), lost[1]])
    assert joined.group == range(4, 7)
    assert joined.reasons == {4: "gone", 6: "gone"}
    assert [each.documents.tolist() for each in joined.hits] == [[], [1], []]


def odd(documents, scores):
    return [Hits(np.array(documents), np.array(scores))]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([], "gave 0 lists for 1 queries"),
        (odd([1, 2], [3.0]), "gave 2 documents with 1 scores, where 10 at most were asked for"),
        (odd(range(11), range(11)), "gave 11 documents with 11 scores, where 10 at most"),
        (odd([300], [1.0]), "gave documents 300 to 300, and there are 300 from 0 on"),
        (odd([4, -1], [2.0, 1.0]), "gave documents -1 to 4, and there are 300 from 0 on"),
        (odd([4, 4], [2.0, 1.0]), "gave a document twice"),
        (odd([4], [np.nan]), "gave a score that is not a finite number"),
        (odd([4], [1e39]), "gave a score that is not a finite number"),
        ([None], "AttributeError: 'NoneType' object has no attribute 'documents'"),
    ],
)
def test_lists_that_no_table_could_hold_are_failures_of_their_query(searcher, tmp_path, monkeypatch, given, reason):
    """A retriever of one's own may give them."""
    bad, search = searcher.queries.ids[3], BM25.search
    monkeypatch.setattr(
        BM25,
        "search",
        lambda self, queries, k: [
            each
            for place, name in enumerate(queries.ids)
            for each in (given if name == bad else search(self, queries[place : place + 1], k))
        ],
    )
    search_groups(searcher, [range(10)], tmp_path)
    found = Found.load(tmp_path, range(10))
    assert list(found.reasons) == [3]
    assert reason in found.reasons[3]
    assert not found.hits[3].documents.size
    assert all(each.documents.size for place, each in enumerate(found.hits) if place != 3)


def test_what_was_found_is_found_anew_for_a_table_that_was_removed(recipe, tmp_path, searches, monkeypatch):
    """Whatever could not be searched for, or encoded, may go through now."""
    path = recipe()
    with monkeypatch.context() as patch:
        failing_on(patch, "q3", "q4")
        with pytest.raises(KeyboardInterrupt):
            score(in_small_blocks(path), tmp_path / "t", After(2, stop))
    shutil.rmtree(tmp_path / "t")
    assert not score(in_small_blocks(path), tmp_path / "t").failures
    score(in_small_blocks(path), tmp_path / "whole")
    assert contents(tmp_path / "t") == contents(tmp_path / "whole")
