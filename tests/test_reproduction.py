"""The reproduction of the paper: its data are complete, its systems behave as tuned, its page and commands hold."""

import math
import re
import subprocess
import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from benchmarks.reproduction import commands, texts
from benchmarks.reproduction.__main__ import DOCS, PAGE, write
from benchmarks.reproduction.findings import Scale, find
from benchmarks.reproduction.markdown import prose
from benchmarks.reproduction.measuring import curves_of, fitted_rule, mean_measure
from benchmarks.reproduction.published import COLLECTIONS, METHODS, RERANKERS, RETRIEVERS, ROWS, row
from benchmarks.reproduction.rates import Rate
from benchmarks.reproduction.real import target_below
from benchmarks.reproduction.systems import FIRST_STAGES, SECOND_STAGES, pool, simulated_system
from benchmarks.reproduction.trials import same_loss
from benchmarks.reproduction.tuning import size_missed
from benchmarks.reproduction.wrong.batches import expected_on_batch
from benchmarks.reproduction.wrong.corrections import smallest_bound
from benchmarks.reproduction.wrong.monotonicity import share_not_monotone
from benchmarks.reproduction.wrong.printed_bound import printed_rejects

from surecut.baselines import published_procedure
from surecut.bounds import WSR
from surecut.cli.values import named_method
from surecut.curves import Curves
from surecut.targets import at_least
from surecut.watching import SILENT
from tests.running import unknown_options

ROOT = Path(__file__).parents[1]
QUERIES = 3000
TOLERANCE = 0.03  # over three standard errors of a mean RR@10 of so many queries
TINY = Scale(
    trials=2,
    rejections=20,
    corrections=2,
    batches=4,
    queries=300,
    depth=40,
    rows=(ROWS[0], ROWS[-1]),
    tables=("nfcorpus-bm25-minilm",),
    targets=(0.3, 0.36, 0.4, 0.99),
    printed_sizes=(50,),
    corrected_sizes=(60,),
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    write(find(TINY, SILENT), folder)
    return folder


def test_every_row_of_the_paper_is_there_once():
    assert len(ROWS) == len(COLLECTIONS) * len(RETRIEVERS) * len(RERANKERS) == len({each.full_name for each in ROWS})
    for each in ROWS:
        assert tuple(each.methods) == METHODS
        assert each.methods["CEC"].confidence is not None
        assert max(each.first_stage, each.target) < each.reranked
        for told in each.methods.values():
            assert 1 <= told.size <= 1000
            assert abs(told.measure - each.target) < 0.02


def test_systems_with_the_same_retriever_share_its_first_stage():
    assert set(FIRST_STAGES) == {(each.collection, each.retriever) for each in ROWS}
    assert set(SECOND_STAGES) == {(each.collection, each.retriever, each.reranker) for each in ROWS}
    one, other = (simulated_system(row("MARCO", "DPR", reranker)) for reranker in RERANKERS)
    same = {"name": "", "sentence": "", "strength": 0.0, "shallow_strength": 0.0}
    assert replace(one, **same) == replace(other, **same)


@pytest.mark.parametrize("each", ROWS, ids=lambda each: each.full_name)
def test_tuned_systems_measure_what_the_paper_publishes(each):
    data = pool(each, QUERIES)
    assert mean_measure(data, 1.0) == pytest.approx(each.first_stage, abs=TOLERANCE)
    assert mean_measure(data, 0.0) == pytest.approx(each.reranked, abs=TOLERANCE)


def test_the_page_and_its_figures_are_written(written):
    page = (written / PAGE).read_text(encoding="utf-8")
    figures = re.findall(r"!\[(.+?)\]\((.+?)\)", page)
    assert len(figures) == 5
    for described, path in figures:
        assert len(described) > 60
        assert (written / path).read_text(encoding="utf-8").startswith("<svg")
    assert not re.search(r"\bnan\b|\{[a-z_]+\}", page.partition("## To fill in the rest")[0])
    for each in TINY.rows:
        assert f"| {each.name}, target {each.target:.3f} | CEC | {each.methods['CEC'].measure:.3f} / 0." in page


def test_the_page_is_the_same_each_time(written, tmp_path):
    write(find(TINY, SILENT), tmp_path)
    for path in (PAGE, *(f"figures/{each.name}" for each in (written / "figures").iterdir())):
        assert (tmp_path / path).read_bytes() == (written / path).read_bytes()


def test_the_page_that_is_kept_has_every_system_and_its_figures():
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    for each in ROWS:
        assert page.count(f"| {each.name}, target {each.target:.3f} | CEC") >= 1
        for line in commands.from_recipe(each):
            assert line in page
    for path in re.findall(r"\]\((figures/.+?)\)", page):
        assert (DOCS / path).is_file()
    for words in (texts.HEAD, texts.TUNED, texts.REAL_STAGES, texts.RUNS, texts.RECIPES):
        assert prose(words) in page, "the page is older than its words: make reproduce"
    assert not list(unknown_options(page))


def test_commands_name_methods_that_trials_takes():
    words = commands.from_runs(ROWS[0]).split()
    named = [named_method(word) for before, word in pairwise(words) if before == "--method"]
    assert [each.name for each in named] == ["CEC", "EST", "ERT", "surecut", "drop"]
    assert named[0].options == {"procedure": "paper"}


@pytest.mark.parametrize("each", ROWS, ids=lambda each: each.full_name)
def test_the_larger_recipes_are_the_shipped_ones_with_other_queries(each, tmp_path):
    target = f"{commands.FOLDERS[each.collection]}-{commands.recipe_name(each)}.toml"
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    subprocess.run(["bash", "-c", commands.larger_recipe(each)], cwd=tmp_path, check=True)
    made = tomllib.loads((tmp_path / target).read_text(encoding="utf-8"))
    shipped = ROOT / "recipes" / commands.FOLDERS[each.collection] / f"{commands.recipe_name(each)}.toml"
    expected = {
        "MARCO": {"ir_datasets": "msmarco-passage/dev/judged", "sample": 11_980},
        "Quora": {"beir": "${SURECUT_DATA}/quora.zip", "split": ["dev", "test"]},
    }
    assert made.pop("collection") == expected[each.collection]
    kept = tomllib.loads(shipped.read_text(encoding="utf-8"))
    kept.pop("collection")
    assert made == kept


def test_targets_are_chosen_by_their_rules():
    assert target_below(0.7) == 0.67
    assert target_below(0.9) == 0.87
    assert same_loss(0.35, 0.369) == 0.051
    assert same_loss(0.9, 1.0) == 0.1


def test_a_size_that_rounds_to_the_published_one_is_met():
    assert size_missed(13, 13.4) == 0.0
    assert size_missed(13, 27.0) == pytest.approx(math.log(2))
    assert size_missed(3, 1.25) == pytest.approx(-math.log(2))


def test_rates_have_exact_intervals():
    low, high = Rate(5, 50).interval()
    assert (low, high) == pytest.approx((0.0333, 0.2181), abs=1e-4)
    assert Rate(0, 10).interval()[0] == 0.0
    assert Rate(10, 10).interval()[1] == 1.0
    assert Rate(200, 1000).exceeds(0.1)
    assert not Rate(12, 100).exceeds(0.1)
    assert Rate(1, 10) + Rate(2, 20) == Rate(3, 30)


def test_a_tight_certificate_is_met_by_84_percent_of_batches():
    assert expected_on_batch(5000, 6980) == pytest.approx(0.836, abs=0.001)


def test_the_printed_formula_differs_from_the_predictable_one():
    x = (np.random.default_rng(1).random((300, 300)) < 0.05).astype(np.float64)
    printed = printed_rejects(x, 0.05, 0.1)
    assert printed.sum() > sum(WSR.decision(each, 0.05, 0.1) for each in x)


def test_the_smallest_bound_is_that_of_the_best_threshold():
    rng, n = np.random.default_rng(0), 400
    start, after = (rng.random(n) < 0.5).astype(np.float64), (rng.random(n) < 0.1).astype(np.float64)
    losses = Curves(start, start, np.arange(n + 1), np.full(n, -5.0), after)
    found = smallest_bound(losses, WSR, 0.1)
    assert found.threshold > -5.0
    np.testing.assert_array_equal(found.losses, after)
    assert found.bound == pytest.approx(WSR.upper_bound(after, 0.1), abs=0.002)


def test_the_published_procedure_corrects_to_the_same_smallest_bound():
    """Two searches: one for the paper's bound, by bisection, and one for any test, down a ladder."""
    data = pool(ROWS[4], 300, 50)
    losses = at_least(0.99).losses(curves_of(data, fitted_rule(data)))
    published = published_procedure(losses, 0.01, 0.1).corrected_level
    assert published is not None
    assert smallest_bound(losses, WSR, 0.1).bound == pytest.approx(published, abs=0.002)


def test_queries_that_gain_by_pruning_are_counted():
    offsets, keys = np.array([0, 1, 2, 2]), np.array([1.0, 2.0])
    curves = Curves(np.array([1.0, 0.5, 0.0]), np.array([1.0, 0.5, 0.0]), offsets, keys, np.array([0.5, 1.0]))
    assert share_not_monotone(curves) == pytest.approx(1 / 3)
