"""Run files as either stage: what the file says, no more and no less."""

from pathlib import Path

import numpy as np
import pytest

from surecut import InputError, read_table
from surecut.system.collection import Queries
from surecut.system.recipe import read_recipe
from surecut.system.rerankers import RunReranker
from surecut.system.retrievers import RunRetriever, ready
from surecut.system.runs import RunFile
from surecut.system.scoring import score
from surecut.system.topk import Hits
from tests.system.making import store

RUN = {"q1": {"d2": 3.5, "d10": 3.5, "d1": 1.0}, "q2": {"d1": -2.0}}
ASKED = Queries(["q2", "q1"], ["two", "one"])


def write_run(path, run):
    rows = [f"{query} Q0 {doc} 0 {value!r} tag" for query, found in run.items() for doc, value in found.items()]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def documents(tmp_path):
    return store(tmp_path / "store", [(name, "") for name in ("d1", "d2", "d3", "d10")])


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "a.run", RUN)


def candidates(*numbers):
    return Hits(np.array(numbers, np.int64), np.zeros(len(numbers), np.float32))


def test_a_run_retrieves_what_it_holds(documents, run):
    retriever = RunRetriever(run)
    ready(retriever, documents)
    two, one = retriever.search(ASKED, 10)
    assert documents.ids.take(two.documents) == ["d1"]
    assert documents.ids.take(one.documents) == ["d2", "d10", "d1"]  # equal ones by id descending
    assert one.scores.tolist() == [3.5, 3.5, 1.0]
    assert documents.ids.take(retriever.search(ASKED, 1)[1].documents) == ["d2"]


def test_a_run_reranks_as_it_says(documents, run):
    reranker = RunReranker(run)
    reranker.load(documents)
    two, one = reranker.rerank(ASKED, [candidates(0), candidates(3, 0, 1)], documents)
    assert two.tolist() == [-2.0]
    assert one.tolist() == [3.5, 1.0, 3.5]
    assert reranker.rerank(ASKED, [candidates(), candidates()], documents)[0].tolist() == []


def test_reranker_scores_keep_all_their_digits(documents, tmp_path):
    reranker = RunReranker(write_run(tmp_path / "b.run", {"q1": {"d1": 0.1 + 0.2}}))
    reranker.load(documents)
    assert reranker.rerank(Queries(["q1"], [""]), [candidates(0)], documents)[0].tolist() == [0.1 + 0.2]


@pytest.mark.parametrize(("query", "numbers", "lost"), [("q1", (0, 2), "d3"), ("q2", (3,), "d10"), ("q9", (0,), "d1")])
def test_a_candidate_without_a_score_is_named(documents, run, query, numbers, lost):
    reranker = RunReranker(run)
    reranker.load(documents)
    with pytest.raises(InputError, match=rf"a\.run: no score for document '{lost}' of query '{query}'"):
        reranker.rerank(Queries([query], [""]), [candidates(*numbers)], documents)


def test_a_document_that_is_not_in_the_collection_is_named(documents, tmp_path):
    path = write_run(tmp_path / "b.run", {"q1": {"d1": 1.0, "nobody": 2.0}})
    for read in (lambda: ready(RunRetriever(path), documents), lambda: RunReranker(path).load(documents)):
        with pytest.raises(InputError, match=r"b\.run: document 'nobody' is not in the collection"):
            read()


def test_a_document_twice_is_named(documents, tmp_path):
    path = tmp_path / "b.run"
    path.write_text("q1 Q0 d1 1 2.0 t\nq1 Q0 d1 2 1.0 t\n")
    with pytest.raises(InputError, match=r"b\.run: document 'd1' is there twice for 'q1'"):
        ready(RunRetriever(path), documents)


def test_a_query_that_is_not_in_the_run_finds_nothing(documents, run):
    retriever = RunRetriever(run)
    ready(retriever, documents)
    (hits,) = retriever.search(Queries(["new"], ["balak"]), 5)
    assert hits.documents.size == hits.scores.size == 0


def test_a_run_of_other_queries_is_refused(recipe, tmp_path):
    (tmp_path / "other.run").write_text("elsewhere Q0 d1 1 2.0 t\n")
    with pytest.raises(InputError, match="nothing was retrieved for any of the 80 queries"):
        score(read_recipe(recipe(retriever='kind = "run"\nrun = "other.run"')), tmp_path / "table")


def test_a_missing_run_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.run: no such file"):
        _ = RunRetriever(tmp_path / "nowhere.run").fingerprint


def test_the_fingerprint_is_the_contents_or_the_systems(run, tmp_path):
    other = write_run(tmp_path / "b.run", {"q1": {"d1": 1.0}})
    same = write_run(tmp_path / "c.run", RUN)
    assert RunRetriever(run).fingerprint == RunRetriever(same).fingerprint != RunRetriever(other).fingerprint
    assert RunRetriever(run, "mono").fingerprint == RunRetriever(other, "mono").fingerprint
    assert RunRetriever(run, "mono").fingerprint != RunRetriever(run, "duo").fingerprint


def written_out(data, scores, path):
    """One column of a score table as a run."""
    rows = zip(np.repeat(data.query_ids, data.lengths), data.doc_ids, scores, strict=True)
    path.write_text("".join(f"{query} Q0 {doc} 0 {float(value)!r} t\n" for query, doc, value in rows))


@pytest.fixture
def runs(scored, tmp_path):
    """Sections of a recipe that has both stages of the small system as run files."""
    for stage in ("retriever", "reranker"):
        written_out(scored.data, getattr(scored.data, stage), tmp_path / f"{stage}.run")
    return {stage: f'kind = "run"\nrun = "{stage}.run"' for stage in ("retriever", "reranker")}


def test_two_runs_make_the_table_they_came_from(scored, runs, recipe, tmp_path):
    score(read_recipe(recipe(**runs)), tmp_path / "table")
    assert read_table(tmp_path / "table").fingerprint() == scored.data.fingerprint()


@pytest.mark.parametrize(
    "together",
    [128, 1],
)
def test_a_query_that_the_run_lacks_is_left_out_whoever_is_searched_with_it(
    scored, runs, recipe, tmp_path, monkeypatch, together
):
    monkeypatch.setattr("surecut.system.growing._QUERIES_PER_SEARCH", together)
    path = tmp_path / "retriever.run"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith("q7 ")))
    score(read_recipe(recipe(retriever=runs["retriever"], depth=2000)), tmp_path / "table")
    assert set(read_table(tmp_path / "table").query_ids) == set(scored.data.query_ids) - {"q7"}


def test_another_run_of_the_same_system_is_another_table(scored, runs, recipe, tmp_path):
    named = {stage: f'{section}\nsystem = "mine"' for stage, section in runs.items()}
    score(read_recipe(recipe(**named)), tmp_path / "table")
    path = tmp_path / "reranker.run"
    path.write_text(path.read_text().replace(" t\n", " again\n"))
    with pytest.raises(InputError, match="was begun with another runs"):
        score(read_recipe(recipe(**named)), tmp_path / "table")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without end")
def test_a_device_without_end_is_no_run():
    with pytest.raises(InputError, match="/dev/zero: is not a file"):
        _ = RunFile(Path("/dev/zero")).content
