"""Ray on this machine: the same tables and certificates, byte for byte, and errors that come home as they are."""

import os
import subprocess
import sys

import pytest

import surecut as sc
from surecut.errors import EvaluatorsDisagree
from surecut.io.table import write_table
from surecut.system.recipe import read_recipe
from surecut.system.scoring import score
from tests.system.making import (
    WORDS,
    bi_encoder,
    contents,
    cross_encoder,
    expander,
    in_small_blocks,
    write_beir,
    write_recipe,
)

POISON = WORDS[-1]


def squared(number):
    return number * number


def refused(number):
    raise sc.InputError(f"number {number} is not read here")


def disagreeing(number):
    raise EvaluatorsDisagree(f"{number} or {number + 1}")


class Adding:
    """A worker that counts how often it was made."""

    def __init__(self, more):
        self.more = more

    def __call__(self):
        return lambda item: item + self.more


class Broken:
    def __call__(self):
        raise sc.InputError("no such model folder")


class Unshared:
    def __call__(self):
        return lambda item: open("/nowhere/at/all")


class Deadly:
    """One of its items ends the process that works on it."""

    def __call__(self):
        return lambda item: os._exit(1) if item == 3 else item

    def given_up(self, item, reason):
        return f"{item} {reason}"


def test_tasks_come_back_in_the_order_of_the_items(ray):
    assert list(sc.Ray().map(squared, range(40))) == [number * number for number in range(40)]


def test_a_generator_that_is_left_leaves_nothing_running(ray):
    results = sc.Ray().map(squared, range(1000))
    assert next(results) == 0
    results.close()


@pytest.mark.parametrize(
    ("work", "kind", "words"),
    [(refused, sc.InputError, "number 0 is not read here"), (disagreeing, EvaluatorsDisagree, "0 or 1")],
)
def test_refusals_come_home_as_they_are(ray, work, kind, words):
    with pytest.raises(kind, match=f"^{words}$"):
        list(sc.Ray().map(work, range(3)))


def test_every_item_is_worked_on_once_and_has_its_place(ray):
    made = dict(sc.Ray().infer(Adding(100), list(range(25))))
    assert made == {number: number + 100 for number in range(25)}
    assert list(sc.Ray().infer(Adding(1), [])) == []


def test_a_worker_that_cannot_be_made_says_why(ray):
    with pytest.raises(sc.InputError, match="no such model folder"):
        list(sc.Ray().infer(Broken(), [1, 2, 3]))


def test_a_file_that_a_node_does_not_have_is_named_with_the_node(ray):
    with pytest.raises(
        sc.InputError, match=r"^/nowhere/at/all: No such file .*, on .*: every node needs the same files"
    ):
        list(sc.Ray().infer(Unshared(), [1]))


def test_what_ends_its_worker_again_and_again_is_given_up(ray):
    made = dict(sc.Ray(workers=2).infer(Deadly(), list(range(6))))
    assert made.pop(3) == "3 ended its worker 3 times: out of memory, or a fault of the library"
    assert made == {item: item for item in (0, 1, 2, 4, 5)}


def test_very_many_items_share_blocks(ray, monkeypatch):
    monkeypatch.setattr("surecut.runners.ray._MOST_BLOCKS", 4)
    assert dict(sc.Ray().infer(Adding(1), list(range(10)))) == {number: number + 1 for number in range(10)}


def test_it_listens_where_nobody_else_can_reach_it(ray):
    assert {node["NodeManagerAddress"] for node in ray.nodes()} == {"127.0.0.1"}


def test_a_process_has_one_cluster(ray):
    with pytest.raises(sc.InputError, match=r"connected to Ray at '127.0.0.1:\d+', not at '127.0.0.1:1': ray.shutdown"):
        list(sc.Ray("127.0.0.1:1").map(squared, [1]))
    assert list(sc.Ray().map(squared, [2])) == [4]


@pytest.mark.parametrize(
    "given",
    [{"workers": 0}, {"workers": 1.5}, {"workers": "2"}, {"cpus": 0}, {"cpus": None}, {"gpus": -1}, {"gpus": "x"}],
    ids=str,
)
def test_impossible_workers_are_refused(given):
    with pytest.raises(sc.InputError, match=r"must be (a whole number of at least 1|a number|0, a share)"):
        sc.Ray(**given)


def test_workers_that_fit_nowhere_are_refused(ray):
    for given in ({"gpus": 1}, {"gpus": 1, "workers": 3}, {"cpus": 64}):
        with pytest.raises(sc.InputError, match=r"no node of the cluster has them \(.* by node: 2 and 0\)"):
            list(sc.Ray(**given).infer(Adding(1), [1]))


def test_a_certificate_is_the_same_by_ray(ray, tmp_path, monkeypatch):
    monkeypatch.setattr("surecut.io.parts.ROWS", 2000)
    write_table(sc.simulate("dense-electra", queries=900, depth=30, seed=1, ties=True), tmp_path / "t")
    for options in ({}, {"target": sc.at_least(0.2), "rule": "score"}, {"target": sc.agreement(0.8, 5)}):
        by_ray = sc.calibrate(sc.scan_table(tmp_path / "t", runner=sc.Ray()), **options)
        assert by_ray.to_json() == sc.calibrate(sc.read_table(tmp_path / "t"), **options).to_json()
    check = by_ray.check(sc.scan_table(tmp_path / "t", runner=sc.Ray()))
    assert check == by_ray.check(sc.read_table(tmp_path / "t"))


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A small collection, and recipes of every kind of encoding."""
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("surecut.system.vectors._BLOCK", 64)
    monkeypatch.setattr("surecut.system.impacts._BLOCK", 64)
    beir = write_beir(tmp_path / "data", queries=60, documents=300)
    cross = cross_encoder(tmp_path / "cross", poison=POISON)
    sections = {
        "bm25": 'kind = "bm25"',
        "dense": f'kind = "dense"\nmodel = "{bi_encoder(tmp_path / "bi", poison=POISON)}"\npooling = "mean"',
        "splade": f'kind = "splade"\nmodel = "{expander(tmp_path / "splade", poison=POISON)}"',
    }

    def recipe(retriever):
        section = f'kind = "cross-encoder"\nmodel = "{cross}"'
        path = tmp_path / f"{retriever}.toml"
        return write_recipe(path, collection=f'beir = "{beir}"', retriever=sections[retriever], reranker=section)

    return recipe


@pytest.mark.parametrize("retriever", ["bm25", "dense", "splade"])
def test_a_table_is_the_same_by_ray_with_what_failed_named(ray, system, tmp_path, monkeypatch, retriever):
    path = system(retriever)
    local = score(in_small_blocks(path), tmp_path / "local")
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "another-cache"))  # so that nothing is there already
    remote = score(in_small_blocks(path), tmp_path / "ray", runner=sc.Ray(workers=2))
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
    assert remote == local
    assert remote.failures


def test_relative_names_mean_the_same_over_there(ray, system, tmp_path, monkeypatch):
    path = system("dense")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SURECUT_CACHE", "kept")
    path.write_text(path.read_text().replace(f"{tmp_path}/", "./"))
    score("dense.toml", "t", runner=sc.Ray())
    certificate = sc.calibrate(sc.scan_table("t", runner=sc.Ray(), missing_reranker="lowest"), target=sc.max_drop(0.5))
    assert certificate.calibration["queries"] == 60


def test_what_one_runner_began_the_other_finishes(ray, system, tmp_path):
    from tests.system.making import After, stop

    path = system("bm25")
    score(in_small_blocks(path), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        score(in_small_blocks(path), tmp_path / "t", After(3, stop), sc.Ray())
    assert not (tmp_path / "t" / "meta.json").exists()
    score(in_small_blocks(path), tmp_path / "t")
    assert contents(tmp_path / "t") == contents(tmp_path / "whole")


def test_documents_that_are_too_long_are_counted_wherever_they_are_cut(ray, system, tmp_path):
    path = system("bm25")
    path.write_text(path.read_text().replace("[reranker]\n", "[reranker]\nmax_length = 16\n"))
    local = score(read_recipe(path), tmp_path / "local")
    assert score(read_recipe(path), tmp_path / "ray", runner=sc.Ray()).notes == local.notes
    assert "tokens: their documents were cut" in local.notes[0]


ENDING = """
import atexit, signal
import surecut as sc
from surecut import cli

def run():
    atexit.register(signal.raise_signal, signal.SIGINT)  # called after what Ray registers
    sc.Ray().start()
    atexit.register(print, "ending")
    return 0

cli._run = run
cli.main()
"""


def test_ctrl_c_while_ray_ends_comes_too_late(tmp_path):
    ended = subprocess.run([sys.executable, "-c", ENDING], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ending\n", "")


def test_nobody_is_at_that_address(monkeypatch):
    library = pytest.importorskip("ray")
    monkeypatch.setattr(library, "is_initialized", lambda: False)
    with pytest.raises(sc.InputError, match=r"^no Ray cluster at '127.0.0.1:1' \(.*refused\): start one with"):
        list(sc.Ray("127.0.0.1:1").map(squared, [1]))


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(sc.InputError, match=r"pip install 'surecut\[ray\]'"):
        list(sc.Ray().map(squared, [1]))
