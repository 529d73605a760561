"""Speed-up: counts and quality are the table's; times are what they are."""

import json
from dataclasses import replace

import ir_measures
import numpy as np
import polars as pl
import pytest

import surecut as sc
from surecut import InputError, Ranker
from surecut.system.collection import Queries
from surecut.system.recipe import read_recipe
from surecut.system.speedup import measure_speedup
from surecut.watching import Watch


@pytest.fixture(scope="module")
def certificate(scored):
    return sc.calibrate(scored.data, target=sc.max_drop(0.1), fusion="fit")


class Counting(Watch):
    """Adds up what it hears."""

    def __init__(self):
        self.units = self.pairs = 0

    def advance(self, units, pairs=0):
        self.units, self.pairs = self.units + units, self.pairs + pairs


def survivors(data, certificate):
    """How many of each query's list are kept: short lists whole."""
    shortest = certificate.calibration["shortest_list"]
    lists = [data.retriever[data.offsets[query] : data.offsets[query + 1]] for query in range(len(data))]
    return np.array([certificate.keep(each) if each.size >= shortest else each.size for each in lists])


def mean_by_ir_measures(data, final, kept, tail, qrels):
    run = {}
    for query, name in enumerate(data.query_ids):
        low, high = data.offsets[query], data.offsets[query] + kept[query]
        order = [*(low + np.argsort(-final[low:high], kind="stable"))]
        order += range(high, data.offsets[query + 1]) if tail == "append" else []
        run[name] = {data.doc_ids[int(row)]: -float(place) for place, row in enumerate(order[:10])}
    return ir_measures.pytrec_eval.calc_aggregate([ir_measures.RR], qrels, run)[ir_measures.RR]


@pytest.mark.parametrize("tail", ["drop", "append"])
def test_counts_and_quality_are_those_of_the_table(scored, certificate, tail):
    ranker = Ranker(replace(certificate, tail=tail), scored.recipe)
    queries, watch = ranker.recipe.collection.queries, Counting()
    found = measure_speedup(ranker, queries, watch)
    data = scored.data
    kept = survivors(data, certificate)
    by_query = dict(zip(queries.ids, zip(found.candidates, found.kept, strict=True), strict=True))
    assert [by_query[query] for query in data.query_ids] == list(zip(data.lengths, kept, strict=True))
    assert (watch.units, watch.pairs) == (80, data.lengths.sum() + kept.sum())

    beta = certificate.fusion["beta"]
    final = beta * data.retriever.astype(np.float64) + (1 - beta) * data.reranker
    qrels = {query: {doc: 1} for query, doc, _ in pl.read_parquet(scored.folder / "qrels.parquet").iter_rows()}
    assert (found.measure, found.measured_queries) == ("RR@10", 80)
    assert found.quality_full == pytest.approx(mean_by_ir_measures(data, final, data.lengths, "drop", qrels), abs=1e-9)
    assert found.quality_pruned == pytest.approx(mean_by_ir_measures(data, final, kept, tail, qrels), abs=1e-9)


def test_figures_follow_from_the_times(scored, certificate):
    ranker = Ranker(certificate, scored.recipe)
    found = measure_speedup(ranker, ranker.recipe.collection.queries[:12])
    said = found.to_dict()
    assert said["queries"] == 12
    assert said["candidates_ratio"] == pytest.approx(found.candidates.sum() / found.kept.sum())
    assert said["reranking_ratio"] == pytest.approx(found.full.sum() / (found.pruning.sum() + found.pruned.sum()))
    assert all(each.min() > 0 for each in (found.retrieving, found.pruning, found.full, found.pruned))
    assert said["milliseconds"]["full"]["total"] == pytest.approx(1000 * found.full.sum())
    assert said["milliseconds"]["full"]["p50"] <= said["milliseconds"]["full"]["p95"]


def test_what_is_timed_is_all_candidates_and_survivors_only_taking_turns(scored, certificate, monkeypatch):
    ranker = Ranker(replace(certificate, threshold=np.inf), scored.recipe)
    reranker, sizes = ranker.recipe.reranker, []
    rerank = reranker.rerank

    def counted(queries, hits, documents):
        sizes.append(hits[0].documents.size)
        return rerank(queries, hits, documents)

    monkeypatch.setattr(reranker, "rerank", counted)
    found = measure_speedup(ranker, ranker.recipe.collection.queries[:12])
    long_enough = found.candidates >= certificate.pruner.shortest  # of shorter lists nothing is pruned
    assert long_enough.any()
    assert set(found.kept[long_enough].tolist()) == {certificate.pruner.min_keep}
    _, *timed = sizes  # the first warms up
    assert timed[::4] == found.kept[::2].tolist()
    assert timed[1::4] == found.candidates[::2].tolist()
    assert timed[2::4] == found.candidates[1::2].tolist()
    assert timed[3::4] == found.kept[1::2].tolist()


def test_without_judgements_there_is_no_quality(beir, recipe, certificate):
    files = f'documents = "{beir}/corpus.jsonl"\nqueries = "{beir}/queries.jsonl"'
    ranker = Ranker(certificate, recipe(collection=files))
    found = measure_speedup(ranker, ranker.recipe.collection.queries[:3])
    assert (found.quality_full, found.quality_pruned, found.measured_queries) == (None, None, 0)


def test_an_agreement_certificate_is_judged_by_a_measure(scored):
    certificate = sc.calibrate(scored.data, target=sc.agreement(0.5, k=10))
    ranker = Ranker(certificate, scored.recipe)
    found = measure_speedup(ranker, ranker.recipe.collection.queries[:5])
    assert found.measured_queries == 5
    assert 0 <= found.quality_full <= 1


def test_queries_that_find_nothing_do_no_harm(scored, certificate):
    ranker = Ranker(certificate, scored.recipe)
    found = measure_speedup(ranker, Queries(["x", "q1"], ["xyzzy", "balak dalan"]))
    assert found.kept[0] == found.candidates[0] == 0
    assert found.measured_queries == 1
    assert measure_speedup(ranker, Queries(["x"], ["xyzzy"])).quality_full is None


def test_no_queries_are_refused(scored, certificate):
    with pytest.raises(InputError, match="no queries to measure on"):
        measure_speedup(Ranker(certificate, scored.recipe), Queries([], []))


def test_a_run_file_cannot_be_timed(scored, recipe, tmp_path):
    (tmp_path / "second.run").write_text("q1 Q0 d1 1 2.0 t\n")
    certificate = sc.calibrate(scored.data, target=sc.max_drop(0.1))
    ranker = sc.Ranker(certificate, recipe(reranker='kind = "run"\nrun = "second.run"'), any_system=True)
    with pytest.raises(InputError, match="there is no reranking to time"):
        measure_speedup(ranker, Queries(["q1"], ["balak"]))


def test_nothing_pruned_is_nothing_saved(scored):
    certificate = replace(sc.calibrate(scored.data, target=sc.max_drop(0.1)), threshold=-np.inf)
    found = measure_speedup(sc.Ranker(certificate, scored.recipe), read_recipe(scored.recipe).collection.queries[:3])
    assert found.pruning_share is None
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["pruning_share_of_saved"] is None
    assert found.largest_difference < 1e-5
