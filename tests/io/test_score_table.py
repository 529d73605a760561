"""Tables on disk: whatever is made of them piece by piece is what is made of them in memory, to the last byte."""

import random
import weakref
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.io.tables import DEPTH, QUERIES, written

import surecut as sc
from surecut.io.pieces import Asked
from surecut.io.table import as_parquet
from surecut.runners import Local
from surecut.watching import Watch


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """About ten queries at a time."""
    monkeypatch.setattr("surecut.io.parts.ROWS", 10 * DEPTH)


def same(table, whole, **options):
    """The certificate of the table in pieces, once it is known to be that of the table in memory."""
    certificate = sc.calibrate(table, **options)
    assert certificate.to_json() == sc.calibrate(whole, **options).to_json()
    return certificate


def test_it_is_read_in_many_pieces(table):
    assert len(list(table.map(len))) > 30
    assert sum(table.map(len)) == len(table) == QUERIES
    assert "ScoreTable(" in repr(table)
    assert "400 queries" in repr(table)


def test_what_is_known_before_a_list_is_read_is_what_the_lists_say(table, folder):
    whole = sc.read_table(folder)
    for column in ("query_ids", "lengths", "judged"):
        assert getattr(table, column).tolist() == getattr(whole, column).tolist()
    assert (table.any_relevant, table.without_relevant) == (whole.any_relevant, whole.without_relevant)
    assert table.census == replace(whole.census, filled_reranked=0)
    assert table.fingerprint() == whole.fingerprint()


def test_a_choice_of_no_queries_is_that_in_memory(table, folder):
    nothing, empty = table.take([]), sc.read_table(folder).take([])
    assert nothing.fingerprint() == empty.fingerprint()
    for whole in (nothing.collect(), nothing.at_hand()):
        assert len(whole) == whole.retriever.size == whole.reranker.size == 0


OPTIONS = {
    "default": {},
    "at least": {"target": sc.at_least(0.3), "rule": "rank"},
    "raw scale, several starts": {"target": sc.at_least(0.3), "rule": "score"},
    "raw scale, fixed grid": {"rule": "gap", "grid": "fixed", "target": sc.max_drop(0.2)},
    "fixed grid": {"grid": "fixed", "target": sc.max_drop(0.1)},
    "agreement": {"target": sc.agreement(0.5, 5)},
    "binary": {"target": sc.at_least(0.2), "measure": "Success@3"},
    "fitted temperature": {"rule": "softmax-fitted", "target": sc.max_drop(0.2)},
    "fitted weight": {"fusion": "fit", "target": sc.max_drop(0.2)},
    "fused, appended": {"fusion": 0.4, "tail": "append", "measure": "AP@20"},
    "cut and capped": {"depth": 20, "max_keep": 12, "min_keep": 2, "target": sc.at_least(0.2)},
    "paper": {"procedure": "paper", "target": sc.max_drop(0.1)},
    "est": {"procedure": "est", "rule": "zscore"},
    "relaxed": {"target": sc.at_least(0.9), "if_unreachable": "relax-target"},
    "less sure": {"target": sc.at_least(0.6), "if_unreachable": "relax-confidence"},
    "own loss": {"target": sc.risk(lambda grades, missed: float(not np.any(grades[:2] > 0)), 0.7)},
    "mass": {"rule": "mass", "target": sc.max_drop(0.3)},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_certificate_is_the_same_in_pieces_and_in_memory(table, frame, qrels, options):
    """What is in memory comes another way: nothing that reads files has part in it."""
    certificate = same(table, sc.Candidates.from_frame(frame, qrels), **options)
    assert certificate.calibration["queries"] <= QUERIES - QUERIES // 9 or "agreement" in str(certificate.target)


@pytest.mark.parametrize("work", [{"depth": 10}, {"depth": 10, "fusion": 0.9}], ids=str)
def test_scores_that_are_missing_are_filled_before_lists_are_cut(tmp_path, frame, qrels, work):
    lost = pl.when(pl.int_range(pl.len()) % 7 < 6).then("reranker").alias("reranker")
    gaps = frame.with_columns(lost)
    table = sc.scan_table(written(tmp_path / "t", gaps, qrels, parts=2), missing_reranker="lowest")
    same(table, sc.Candidates.from_frame(gaps, qrels, missing_reranker="lowest"), target=sc.max_drop(0.3), **work)
    with pytest.raises(sc.InputError, match="the reranker has no score for query"):
        sc.calibrate(sc.scan_table(tmp_path / "t"), **work)


def test_pruning_is_certified_somewhere(table):
    """Or the comparisons above would be between abstentions."""
    certificate = sc.calibrate(table, target=sc.max_drop(0.2))
    assert certificate.certified
    assert certificate.mean_kept < 0.9 * DEPTH


@pytest.fixture
def certificate(table):
    """One that prunes, so that it depends on the order of the tests."""
    found = sc.calibrate(table, target=sc.max_drop(0.2))
    assert found.certified
    assert found.mean_kept < 0.9 * DEPTH
    return found


def again(table):
    return sc.calibrate(table, target=sc.max_drop(0.2)).to_json()


SHAPED = [{"parts": 1}, {"parts": 7}, {"parts": 2, "shuffled": True}, {"parts": 4, "permuted": True}]


@pytest.mark.parametrize("shape", [*SHAPED, {"parts": 5, "permuted": True, "shuffled": True}], ids=str)
def test_how_the_rows_are_divided_and_ordered_makes_no_difference(tmp_path, certificate, frame, qrels, shape):
    other = sc.scan_table(written(tmp_path / "t", frame, qrels, **shape))
    assert again(other) == certificate.to_json()


def test_judgements_beside_the_scores_make_no_difference_but_for_who_is_judged(tmp_path, frame, qrels):
    found = qrels.join(frame, on=("query_id", "doc_id"), how="semi")
    beside = sc.scan_table(written(tmp_path / "a", frame, found, parts=3, beside=True))
    apart = sc.scan_table(written(tmp_path / "b", frame, found, parts=3))
    assert beside.judged.tolist() == apart.judged.tolist()
    assert sc.calibrate(apart, target=sc.max_drop(0.2)).certified
    assert again(beside) == again(apart)


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_the_number_of_threads_makes_no_difference(folder, certificate, jobs):
    assert again(sc.scan_table(folder, runner=Local(jobs))) == certificate.to_json()


class Backwards:
    """A runner that works on everything before it hands out the first, in an order of its own."""

    def start(self, watch):
        pass

    def map(self, work, items):
        waiting = list(enumerate(items))
        random.Random(0).shuffle(waiting)
        made = {place: work(item) for place, item in waiting}
        return iter([made[place] for place in range(len(made))])


def test_the_order_in_which_pieces_are_done_makes_no_difference(folder, certificate):
    assert again(sc.scan_table(folder, runner=Backwards())) == certificate.to_json()


def test_groups_given_by_hand_are_units_in_pieces_too(folder):
    groups = {str(query): f"g{query // 10}" for query in range(0, QUERIES, 3)}
    table, whole = (read(folder).with_groups(groups) for read in (sc.scan_table, sc.read_table))
    certificate = same(table, whole, target=sc.max_drop(0.2))
    assert certificate.calibration["units"] < certificate.calibration["queries"]


def test_groups_in_a_column_are_units(tmp_path, frame, qrels):
    grouped = frame.with_columns(group="g" + (pl.col("query_id").cast(pl.Int64) // 2).cast(pl.String))
    folder = written(tmp_path / "t", grouped, qrels, parts=3)
    same(sc.scan_table(folder), sc.read_table(folder), target=sc.max_drop(0.2))


@pytest.mark.parametrize("options", [{"absent": "zero"}, {"depth": 11}, {"depth": 11, "absent": "zero"}], ids=str)
def test_reading_options_mean_the_same(folder, options):
    table, whole = (read(folder, **options) for read in (sc.scan_table, sc.read_table))
    assert len(table) == len(whole)
    same(table, whole, target=sc.max_drop(0.2))


def test_scores_that_are_missing_are_filled_alike(tmp_path, frame, qrels):
    thinned = frame.with_columns(reranker=pl.when(pl.int_range(pl.len()) % 17 != 5).then("reranker"))
    folder = written(tmp_path / "t", thinned, qrels, parts=3)
    with pytest.raises(sc.InputError, match=r"no score for query .* --missing-reranker lowest"):
        sc.calibrate(sc.scan_table(folder))
    table, whole = (read(folder, missing_reranker="lowest") for read in (sc.scan_table, sc.read_table))
    same(table, whole, target=sc.max_drop(0.3))


def test_tuning_data_may_be_a_table_too(folder, tmp_path, frame, qrels):
    renamed = [each.with_columns(pl.concat_str(pl.lit("t"), "query_id").alias("query_id")) for each in (frame, qrels)]
    other = written(tmp_path / "t", *renamed, parts=2)
    options = {"fusion": "fit", "rule": "softmax-fitted", "target": sc.max_drop(0.3)}
    piecewise = sc.calibrate(sc.scan_table(folder), tune=sc.scan_table(other), **options)
    assert piecewise.to_json() == sc.calibrate(sc.read_table(folder), tune=sc.read_table(other), **options).to_json()


def test_a_check_is_the_same_in_pieces_and_in_memory(table, folder, data):
    held_out = sc.simulate("graded", queries=200, depth=DEPTH, seed=4, ties=True)
    certificate = sc.calibrate(held_out, target=sc.max_drop(0.2))
    found = [certificate.check(each, any_length=True) for each in (table, sc.read_table(folder))]
    assert found[0] == found[1]
    assert found[0].judge_difference is not None


def test_an_assessment_and_a_verification_are_the_same(table, folder):
    assert sc.assess(table, keep=9).to_json() == sc.assess(sc.read_table(folder), keep=9).to_json()
    assert sc.assess(table, budget=9).to_json() == sc.assess(sc.read_table(folder), budget=9).to_json()
    certificate = sc.calibrate(table, target=sc.max_drop(0.2))
    assert sc.verify(certificate, table).same


@pytest.mark.parametrize("common", [{}, {"fusion": "fit"}, {"target": sc.agreement(0.5, 5)}], ids=str)
def test_trials_are_the_same_in_pieces_and_in_memory(table, folder, common):
    given = {"trials": 4, "calibration": 150, "test": 100, "target": sc.max_drop(0.2), **common}
    found = [sc.run_trials(each, **given).to_dict() for each in (table, sc.read_table(folder))]
    assert found[0] == found[1]


def test_trials_on_other_data_are_the_same(table, folder, tmp_path, frame, qrels):
    other = written(tmp_path / "t", frame.filter(pl.col("query_id").cast(pl.Int64) < 300), qrels, parts=2)
    given = {"trials": 2, "calibration": 100, "test": 50}
    found = [
        sc.run_trials(read(folder), test_on=read(other), names=("a", "b"), **given).to_dict()
        for read in (sc.scan_table, sc.read_table)
    ]
    assert found[0] == found[1]


def test_lists_at_hand_are_mapped_and_have_no_ids(table, folder):
    mapped, whole = table.at_hand(), sc.read_table(folder)
    assert isinstance(mapped.retriever, np.memmap)
    assert mapped.doc_ids is None
    assert mapped.fingerprint() == whole.fingerprint()


def test_progress_is_told_in_rows(folder):
    class Heard(Watch):
        def __init__(self):
            self.stages, self.done = [], 0

        def stage(self, what, total=None, done=0):
            self.stages.append((what, total))
            self.done = 0

        def advance(self, units, pairs=0):
            self.done += units

    watch = Heard()
    table = sc.scan_table(folder, watch=watch)
    assert watch.stages == [("reading query ids", 3)]
    sc.calibrate(table, target=sc.max_drop(0.2))
    rows = int(table.lengths[table.judged].sum())
    assert watch.stages[1:] == [("reading lists", rows), ("reading scores", rows)]
    assert watch.done == rows
    cut = table.cut(7).take(np.arange(50))
    list(cut.map(len))
    assert watch.done == watch.stages[-1][1] == 350


def test_what_is_no_data_is_refused_in_words():
    with pytest.raises(sc.InputError, match="Candidates or a score table are needed here, not DataFrame"):
        sc.calibrate(pl.DataFrame())


def test_it_splits_as_it_does_in_memory(table, folder):
    parts = zip(table.split((0.7, 0.3), seed=5), sc.read_table(folder).split((0.7, 0.3), seed=5), strict=True)
    for piecewise, whole in parts:
        assert piecewise.query_ids.tolist() == whole.query_ids.tolist()
        assert piecewise.fingerprint() == whole.fingerprint()


SHAPES = {
    "a file a query": {"parts": QUERIES},
    "one file": {"parts": 1},
    "out of order": {"parts": 3, "shuffled": True},
}


@pytest.mark.parametrize("size", [7, 3 * DEPTH, 120])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_query_ids_may_be_read_in_slices_of_any_size(tmp_path, folder, frame, qrels, monkeypatch, shape, size):
    some = pl.col("query_id").cast(pl.Int64) < 60
    other = written(tmp_path / "t", frame.filter(some), qrels, **{**shape, "parts": min(shape["parts"], 60)})
    whole = sc.scan_table(other)
    monkeypatch.setattr("surecut.io.parts._SLICE", size)
    sliced = sc.scan_table(other)
    assert sliced.query_ids.tolist() == whole.query_ids.tolist()
    assert sliced.lengths.tolist() == whole.lengths.tolist()
    assert sliced.fingerprint() == whole.fingerprint()


def test_pieces_without_a_judged_query_are_no_hindrance(tmp_path, frame, qrels):
    """A log with labels for its first queries only, in a column beside the scores."""
    labelled = qrels.filter((pl.col("query_id") != "nobody") & (pl.col("query_id").cast(pl.Int64, strict=False) < 100))
    found = labelled.join(frame, on=("query_id", "doc_id"), how="semi")
    folder = written(tmp_path / "t", frame, found, parts=3, beside=True)
    table, whole = sc.scan_table(folder), sc.read_table(folder)
    assert 0 < table.judged.sum() < 100
    same(table, whole, target=sc.agreement(0.5, 5))
    same(table, whole, target=sc.max_drop(0.5))
    assert sc.run_trials(table, trials=1, calibration=50, test=30, target=sc.agreement(0.5, 5)).queries == QUERIES


def test_a_part_without_rows_holds_nothing(tmp_path, certificate, frame, qrels):
    other = written(tmp_path / "t", frame, qrels, parts=3)
    (other / "candidates" / "part-00003.parquet").write_bytes(as_parquet(frame.clear()))
    assert again(sc.scan_table(other)) == certificate.to_json()


def test_other_types_of_ids_and_scores_mean_the_same(tmp_path, frame, qrels):
    cast = frame.with_columns(pl.col("query_id").cast(pl.Int64), pl.col("retriever").cast(pl.Float64))
    cast = cast.with_columns(pl.col("reranker").cast(pl.Float32))
    other = written(tmp_path / "t", cast.with_columns(pl.col("query_id").cast(pl.String)), qrels, parts=2)
    for path in (other / "candidates").iterdir():
        rows = pl.read_parquet(path).with_columns(pl.col("query_id").cast(pl.Int64))
        path.write_bytes(as_parquet(rows))
    same(sc.scan_table(other), sc.read_table(other), target=sc.max_drop(0.2))


OTHERS = {
    "calibrate": lambda table: sc.calibrate(table, target=sc.max_drop(0.2)),
    "agreement": lambda table: sc.calibrate(table, target=sc.agreement(0.5, 5)),
    "a grid that is placed": lambda table: sc.calibrate(table, rule="score", grid="fixed", target=sc.max_drop(0.3)),
    "fitted": lambda table: sc.calibrate(table, rule="softmax-fitted", fusion="fit", target=sc.max_drop(0.3)),
    "check": lambda table: sc.calibrate(table, target=sc.max_drop(0.2)).check(table),
    "trials": lambda table: sc.run_trials(table, trials=1, calibration=100, test=50),
}


@pytest.mark.parametrize("work", OTHERS.values(), ids=OTHERS)
def test_only_a_few_lists_are_alive_at_a_time(folder, monkeypatch, work):
    """What is kept of a piece must not hold on to its lists."""
    alive, most, read = {}, [0], Asked.read

    def counted(asked):
        piece = read(asked)
        number = id(piece.retriever)
        alive[number] = piece.retriever.size
        weakref.finalize(piece.retriever, alive.pop, number, None)
        most[0] = max(most[0], sum(list(alive.values())))
        return piece

    monkeypatch.setattr("surecut.placement.ENOUGH", 20)
    monkeypatch.setattr(Asked, "read", counted)
    work(sc.scan_table(folder, runner=Local(2)))
    assert 0 < most[0] <= 10 * 10 * DEPTH < QUERIES * DEPTH / 3


def test_each_query_is_given_once(table):
    with pytest.raises(ValueError, match="each of its queries once"):
        table.take(np.array([3, 3]))
