"""Texts that models fail on: named by id, and the table is made all the same."""

import dataclasses
import json
import shutil

import numpy as np
import onnx
import polars as pl
import pytest
from onnx import numpy_helper

import surecut as sc
from surecut.errors import Unscorable
from surecut.system.cache import cache_folder
from surecut.system.recipe import read_recipe
from surecut.system.rerankers import CrossEncoder
from surecut.system.scoring import score
from tests.system.making import (
    WORDS,
    After,
    LastFirst,
    bi_encoder,
    contents,
    cross_encoder,
    expander,
    in_small_blocks,
    stop,
    write_beir,
    write_lines,
    write_recipe,
)

POISON = WORDS[-1]
DOCUMENTS, QUERY = ("d3", "d17"), "q4"


@pytest.fixture
def models(tmp_path):
    """Models to which one word is poison."""
    cross_encoder(tmp_path / "cross", poison=POISON)
    cross_encoder(tmp_path / "sound")
    bi_encoder(tmp_path / "bi", poison=POISON)
    expander(tmp_path / "splade", poison=POISON)
    return tmp_path


@pytest.fixture
def beir(tmp_path):
    """The word stands in two documents, and nowhere else."""
    folder = write_beir(tmp_path / "data", queries=40, documents=60)
    lines = [json.loads(line) for line in (folder / "corpus.jsonl").read_text().splitlines()]
    for line in lines:
        words = [word for word in line["text"].split() if word != POISON]
        line["text"] = " ".join(words + [POISON] * (line["_id"] in DOCUMENTS))
    write_lines(folder / "corpus.jsonl", lines)
    asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    write_lines(folder / "queries.jsonl", [{**each, "text": each["text"].replace(POISON, WORDS[0])} for each in asked])
    return folder


@pytest.fixture
def recipe(models, beir, tmp_path):
    def written(retriever='kind = "bm25"', reranker=f'kind = "cross-encoder"\nmodel = "{models}/cross"'):
        return write_recipe(
            tmp_path / "r.toml", collection=f'beir = "{beir}"', depth=20, retriever=retriever, reranker=reranker
        )

    return written


def rows_of(folder):
    return pl.read_parquet(folder / "candidates" / "*.parquet")


def test_pairs_that_fail_are_named_and_have_no_score(recipe, tmp_path):
    report = score(in_small_blocks(recipe()), tmp_path / "t")
    rows = rows_of(tmp_path / "t")
    lost = rows.filter(pl.col("doc_id").is_in(DOCUMENTS))
    assert lost.height > 5
    assert lost["reranker"].is_null().all()
    assert rows.filter(~pl.col("doc_id").is_in(DOCUMENTS))["reranker"].is_null().sum() == 0
    assert [(each.query_id, each.doc_id) for each in report.failures] == lost.select("query_id", "doc_id").rows()
    assert all("not a number" in each.reason for each in report.failures)
    meta = json.loads((tmp_path / "t" / "meta.json").read_text())
    assert meta["failed"] == lost.height
    assert meta["quality"] is not None


def test_sound_pairs_have_the_scores_they_have_without_the_others(recipe, models, tmp_path):
    sound = f'kind = "cross-encoder"\nmodel = "{models}/sound"'
    score(read_recipe(recipe()), tmp_path / "poisoned")
    score(read_recipe(recipe(reranker=sound)), tmp_path / "sound")
    one, other = rows_of(tmp_path / "poisoned"), rows_of(tmp_path / "sound")
    assert one.select("query_id", "doc_id", "retriever").equals(other.select("query_id", "doc_id", "retriever"))
    there = one["reranker"].is_not_null()
    assert one["reranker"].filter(there).to_numpy() == pytest.approx(
        other["reranker"].filter(there).to_numpy(), abs=1e-5
    )


def test_such_a_table_says_what_to_do(recipe, tmp_path):
    score(read_recipe(recipe()), tmp_path / "t")
    with pytest.raises(sc.InputError, match="place them last with --missing-reranker lowest"):
        sc.calibrate(sc.scan_table(tmp_path / "t"))
    placed_last = sc.scan_table(tmp_path / "t", missing_reranker="lowest")
    assert sc.calibrate(placed_last, target=sc.max_drop(0.5)).calibration["queries"] == 40


def test_failures_outlive_an_interruption(recipe, tmp_path):
    whole = score(in_small_blocks(recipe()), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        score(in_small_blocks(recipe()), tmp_path / "t", After(3, stop))
    resumed = score(in_small_blocks(recipe()), tmp_path / "t")
    assert resumed.failures == whole.failures
    assert score(in_small_blocks(recipe()), tmp_path / "t").failures == whole.failures


@pytest.mark.parametrize("kind", ["dense", "hnsw", "splade"])
def test_documents_that_cannot_be_encoded_are_never_found(recipe, models, tmp_path, kind):
    sections = {
        "dense": f'kind = "dense"\nmodel = "{models}/bi"\npooling = "mean"',
        "hnsw": f'kind = "dense"\nmodel = "{models}/bi"\npooling = "mean"\nsearch_by = "hnsw"',
        "splade": f'kind = "splade"\nmodel = "{models}/splade"',
    }
    sound = f'kind = "cross-encoder"\nmodel = "{models}/sound"'
    report = score(read_recipe(recipe(retriever=sections[kind], reranker=sound)), tmp_path / "t")
    assert [(each.query_id, each.doc_id) for each in report.failures] == [(None, each) for each in DOCUMENTS]
    found = rows_of(tmp_path / "t")
    assert not set(DOCUMENTS) & set(found["doc_id"])
    assert found.group_by("query_id").len()["len"].max() == 20


def test_documents_without_a_vector_have_no_score_by_it(recipe, models, tmp_path):
    section = f'kind = "bi-encoder"\nmodel = "{models}/bi"\npooling = "mean"'
    report = score(read_recipe(recipe(reranker=section)), tmp_path / "t")
    rows = rows_of(tmp_path / "t")
    lost = rows.filter(pl.col("reranker").is_null())
    assert set(lost["doc_id"]) == set(DOCUMENTS)
    assert len(report.failures) == lost.height
    assert "the document could not be encoded" in report.failures[0].reason


def raising(text):
    raise ZeroDivisionError(f"nothing to divide {text!r} by")


def unanswered(_):
    raise TimeoutError("read timed out")


def full(_):
    raise OSError(28, "No space left on device")


def test_a_disk_that_is_full_is_not_blamed_on_a_text(recipe, tmp_path):
    mine = Odd("d17", full)
    with pytest.raises(sc.InputError, match="No space left on device"):
        score(dataclasses.replace(read_recipe(recipe()), reranker=mine), tmp_path / "t")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (raising, r"ZeroDivisionError: nothing to divide 'd17' by"),
        (unanswered, "TimeoutError: read timed out"),
        (lambda _: "high", "ValueError: could not convert string to float: 'high'"),
        (lambda _: [1.0, 2.0], "gave 2 scores for lists of 1 candidates"),
        (lambda _: np.inf, "the reranker gave no number"),
        (lambda _: np.nan, "the reranker gave no number"),
    ],
)
def test_what_a_reranker_of_ones_own_fails_on_is_named(recipe, tmp_path, given, reason):
    """It knows a document by its id, and does something odd with one of them."""
    mine = Odd("d17", given)
    report = score(dataclasses.replace(read_recipe(recipe()), reranker=mine), tmp_path / "t")
    assert {each.doc_id for each in report.failures} == {"d17"}
    assert all(reason in each.reason for each in report.failures)
    rows = rows_of(tmp_path / "t")
    assert set(rows.filter(pl.col("reranker").is_null())["doc_id"]) == {"d17"}


def test_a_reranker_of_ones_own_that_never_gives_as_many_scores_ends_the_job(recipe, tmp_path):
    mine = Odd("d17", lambda _: 1.0)
    mine.rerank = lambda queries, hits, documents: [np.zeros(each.documents.size + 1) for each in hits]
    words = r"goes through any more, since queries .*: the reranker gave .* scores for lists of"
    with pytest.raises(sc.InputError, match=words):
        score(dataclasses.replace(read_recipe(recipe()), reranker=mine), tmp_path / "t")


class Odd:
    """A reranker by the length of a document's text."""

    pairs_per_block, cut, fingerprint = 160, 0, "odd"

    def __init__(self, bad, given):
        self._bad, self._given = bad, given

    def refuse_queries(self, queries):
        pass

    def prepare(self, documents, watch, runner):
        pass

    def load(self, documents):
        pass

    def notes(self, cut):
        return []

    def rerank(self, queries, hits, documents):
        return [[self._score(documents, number) for number in each.documents.tolist()] for each in hits]

    def _score(self, documents, number):
        name = documents.ids[number]
        return self._given(name) if name == self._bad else float(len(documents.texts.take([number])[0]))


def test_a_query_that_cannot_be_encoded_has_no_candidates(recipe, models, beir, tmp_path):
    asked = [json.loads(line) for line in (beir / "queries.jsonl").read_text().splitlines()]
    changed = [{**each, "text": f"{each['text']} {POISON}"} if each["_id"] == QUERY else each for each in asked]
    write_lines(beir / "queries.jsonl", changed)
    dense = f'kind = "dense"\nmodel = "{models}/bi"\npooling = "mean"'
    sound = f'kind = "cross-encoder"\nmodel = "{models}/sound"'
    report = score(read_recipe(recipe(retriever=dense, reranker=sound)), tmp_path / "t")
    assert [each.query_id for each in report.failures if each.query_id] == [QUERY]
    assert QUERY not in set(rows_of(tmp_path / "t")["query_id"])
    assert len(set(rows_of(tmp_path / "t")["query_id"])) == 39


@pytest.mark.parametrize("depth", [20, 300])
def test_a_query_that_the_reranker_fails_on_does_not_stop_the_job(recipe, models, beir, tmp_path, depth):
    """Deep lists have a block for each query: then all of a block fails, and it is the text all the same."""
    asked = [json.loads(line) for line in (beir / "queries.jsonl").read_text().splitlines()]
    changed = [{**each, "text": f"{each['text']} {POISON}"} if each["_id"] == QUERY else each for each in asked]
    write_lines(beir / "queries.jsonl", changed)
    path = recipe()
    path.write_text(path.read_text().replace("depth = 20", f"depth = {depth}"))
    report = score(read_recipe(path), tmp_path / "t")
    rows = rows_of(tmp_path / "t")
    assert rows.filter(pl.col("query_id") == QUERY)["reranker"].is_null().all()
    assert rows.filter(pl.col("query_id") != QUERY)["reranker"].is_null().mean() < 0.2
    assert QUERY in {each.query_id for each in report.failures}


@pytest.fixture
def poisoned_queries(beir):
    """Makes the reranker fail on some queries: with deep lists, on a block each."""

    def poison(*names):
        asked = [json.loads(line) for line in (beir / "queries.jsonl").read_text().splitlines()]
        changed = [{**each, "text": f"{each['text']} {POISON}"} if each["_id"] in names else each for each in asked]
        write_lines(beir / "queries.jsonl", changed)

    return poison


@pytest.mark.parametrize("first", [0, 10, 35])
def test_many_bad_queries_in_a_row_do_not_stop_the_job(recipe, poisoned_queries, tmp_path, first):
    bad = {f"q{number}" for number in range(first, first + 5)}
    poisoned_queries(*bad)
    report = score(one_query_a_block(recipe()), tmp_path / "t")
    assert bad <= {each.query_id for each in report.failures}
    rows = rows_of(tmp_path / "t")
    for name in bad:
        assert rows.filter(pl.col("query_id") == name)["reranker"].is_null().all()
    assert rows.filter(~pl.col("query_id").is_in(list(bad)))["reranker"].is_not_null().any()


def test_a_job_of_which_only_bad_queries_are_left_ends(recipe, poisoned_queries, tmp_path):
    poisoned_queries("q37", "q38", "q39")
    whole = score(one_query_a_block(recipe()), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        score(one_query_a_block(recipe()), tmp_path / "t", After(37, stop))
    assert len(list((tmp_path / "t" / "blocks").glob("*.parquet"))) >= 37
    assert score(one_query_a_block(recipe()), tmp_path / "t") == whole
    assert contents(tmp_path / "t") == contents(tmp_path / "whole")


def test_a_job_of_which_only_a_bad_group_is_left_ends(recipe, poisoned_queries, tmp_path, monkeypatch):
    """Others go through, although nothing of them is left to be done, or was searched for."""
    monkeypatch.setattr("surecut.system.growing._QUERIES_PER_SEARCH", 1)
    poisoned_queries("q38", "q39")
    whole = score(one_query_a_block(recipe()), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        score(one_query_a_block(recipe()), tmp_path / "t", After(38, stop))
    shutil.rmtree(cache_folder() / "found")
    assert score(one_query_a_block(recipe()), tmp_path / "t") == whole
    assert contents(tmp_path / "t") == contents(tmp_path / "whole")


def test_a_bad_query_is_named_although_most_others_find_nothing(recipe, poisoned_queries, models, beir, tmp_path):
    """Those that are tried find nothing either, and can be scored all the same."""
    asked = [json.loads(line) for line in (beir / "queries.jsonl").read_text().splitlines()]
    texts = [each["text"] if place in (3, 20) else "nowhere" for place, each in enumerate(asked)]
    write_lines(beir / "queries.jsonl", [{**each, "text": text} for each, text in zip(asked, texts, strict=True)])
    poisoned_queries("q3")
    report = score(one_query_a_block(recipe()), tmp_path / "t")
    assert {each.query_id for each in report.failures if each.doc_id not in DOCUMENTS} == {"q3"}
    rows = rows_of(tmp_path / "t")
    assert set(rows["query_id"]) == {"q3", "q20"}
    assert rows.filter(pl.col("query_id") == "q20", ~pl.col("doc_id").is_in(DOCUMENTS))["reranker"].null_count() == 0


class Table:
    """A reranker that knows the candidates of each query, and no other documents."""

    def __init__(self, known):
        self._known = known

    def rerank(self, queries, hits, documents):
        return [
            [self._known.get((query, number), np.nan) for number in each.documents.tolist()]
            for query, each in zip(queries.ids, hits, strict=True)
        ]


def test_a_query_of_which_a_table_of_scores_knows_nothing_is_named(recipe, tmp_path):
    """What was found for other queries is tried, as well as documents from all over."""
    score(one_query_a_block(recipe()), tmp_path / "whole")
    numbers = {f"d{number}": number for number in range(60)}
    pairs = rows_of(tmp_path / "whole").select("query_id", "doc_id").rows()
    known = {(query, numbers[doc]): 1.0 for query, doc in pairs if query != "q7"}
    mine = Odd("", None)
    mine.pairs_per_block = 20
    mine.rerank = Table(known).rerank
    report = score(dataclasses.replace(read_recipe(recipe()), reranker=mine), tmp_path / "t")
    assert {each.query_id for each in report.failures} == {"q7"}


def test_the_order_in_which_blocks_are_done_leaves_no_trace(recipe, poisoned_queries, tmp_path, monkeypatch):
    monkeypatch.setattr("surecut.system.growing._QUERIES_PER_SEARCH", 12)
    monkeypatch.setattr("surecut.system.growing._ROWS_PER_PART", 200)
    poisoned_queries("q5", "q30")
    whole = score(in_small_blocks(recipe()), tmp_path / "whole")
    assert score(in_small_blocks(recipe()), tmp_path / "t", runner=LastFirst()) == whole
    assert len(list((tmp_path / "t" / "candidates").glob("*.parquet"))) > 2
    assert contents(tmp_path / "t") == contents(tmp_path / "whole")


def one_query_a_block(path):
    made = read_recipe(path)
    made.reranker.pairs_per_block = 20
    return made


def test_what_a_device_that_has_gone_leaves_is_scored_again(recipe, models, tmp_path, monkeypatch):
    """After a while nothing goes through any more: nothing of that is blamed on the texts, or kept."""
    path = recipe(reranker=f'kind = "cross-encoder"\nmodel = "{models}/sound"')
    calls, rerank = [], CrossEncoder.rerank

    def gone(self, *given):
        calls.append(1)
        if len(calls) > 6:
            raise Unscorable("CUDA error: device-side assert triggered")
        return rerank(self, *given)

    def two_a_block():
        made = read_recipe(path)
        made.reranker.pairs_per_block = 40
        return made

    score(two_a_block(), tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(CrossEncoder, "rerank", gone)
        with pytest.raises(sc.InputError, match="device-side assert"):
            score(two_a_block(), tmp_path / "t")
    assert len(list((tmp_path / "t" / "blocks").iterdir())) == 6
    assert not score(two_a_block(), tmp_path / "t").failures
    assert contents(tmp_path / "t") == contents(tmp_path / "whole")


@pytest.mark.parametrize("calls", [8, 12, 20])
def test_sound_texts_are_not_blamed_where_a_device_goes_while_a_bad_one_is_found(recipe, tmp_path, calls):
    def mine(last):
        made, done = Odd("d17", raising), []
        rerank = made.rerank

        def lasting(*given):
            done.append(1)
            if len(done) > last:
                raise Unscorable("device gone")
            return rerank(*given)

        made.rerank = lasting
        return dataclasses.replace(read_recipe(recipe()), reranker=made)

    whole = score(mine(10**6), tmp_path / "whole")
    assert {each.doc_id for each in whole.failures} == {"d17"}
    with pytest.raises(sc.InputError, match=r"nothing goes through any more, since queries 'q\d+' to 'q\d+'"):
        score(mine(calls), tmp_path / "t")
    assert score(mine(10**6), tmp_path / "t") == whole
    assert contents(tmp_path / "t") == contents(tmp_path / "whole")


def test_a_model_that_fails_on_everything_stops_the_job(recipe, models, tmp_path):
    poisoned = cross_encoder(tmp_path / "all")
    model = onnx.load(poisoned / "model.onnx")
    head = next(each for each in model.graph.initializer if each.name == "head")
    head.CopyFrom(numpy_helper.from_array(np.full((32, 1), np.nan, np.float32), "head"))
    onnx.save(model, poisoned / "model.onnx")
    with pytest.raises(sc.InputError, match="gave a score that is not a number"):
        score(read_recipe(recipe(reranker=f'kind = "cross-encoder"\nmodel = "{poisoned}"')), tmp_path / "t")
