"""The paper's six systems in small, by recipe and command line: score, calibrate, rank."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import transformers

from surecut.system.records import read_records
from tests.system import making
from tests.system.heavy.tiny import Tiny, dpr, mono_bert, mono_electra, unicoil

pytestmark = pytest.mark.heavy

RETRIEVERS = {
    "bm25": 'kind = "bm25"',
    "dpr": 'kind = "dense"\nmodel = "passages"\nquery_model = "questions"',
    "unicoil": 'kind = "unicoil"\nmodel = "unicoil"',
}
RERANKERS = {"monobert": mono_bert, "monoelectra": mono_electra}
DEPTH = 20


@pytest.fixture(scope="module")
def world(folder_of) -> SimpleNamespace:
    """A BEIR folder, the models and the six recipes, side by side."""
    root = folder_of("world")
    making.write_beir(root / "beir", queries=60, documents=80)
    dpr(transformers.DPRContextEncoder, root / "passages", seed=1)
    dpr(transformers.DPRQuestionEncoder, root / "questions", seed=2)
    unicoil(root / "unicoil")
    rerankers = {name: build(root / name) for name, build in RERANKERS.items()}
    recipes = {
        (first, second): making.write_recipe(
            root / f"{first}-{second}.toml",
            name=f"{first} -> {second}",
            depth=DEPTH,
            collection='beir = "beir"',
            retriever=retriever,
            reranker=f'kind = "cross-encoder"\nmodel = "{second}"',
        )
        for first, retriever in RETRIEVERS.items()
        for second in RERANKERS
    }
    documents = {each.id: each.text for each in read_records(root / "beir" / "corpus.jsonl")}
    queries = {each.id: each.text for each in read_records(root / "beir" / "queries.jsonl")}
    return SimpleNamespace(root=root, recipes=recipes, rerankers=rerankers, documents=documents, queries=queries)


def by_transformers(tiny: Tiny, query: str, document: str) -> float:
    logits = tiny.output(query, document).logits[0]
    return float(logits.softmax(0)[1] if logits.numel() == 2 else logits[0])


@pytest.mark.parametrize("first", RETRIEVERS)
@pytest.mark.parametrize("second", RERANKERS)
def test_a_system_is_scored_calibrated_and_ranks_with_its_certificate(
    first: str, second: str, world: SimpleNamespace, surecut, tmp_path: Path
) -> None:
    recipe, tiny = world.recipes[first, second], world.rerankers[second]
    table, certificate = tmp_path / "table", tmp_path / "cert.json"

    scored = surecut("score", recipe, "-o", table)
    assert scored.status == 0, scored.err
    assert json.loads((table / "meta.json").read_text())["name"] == f"{first} -> {second}"
    rows = pl.read_parquet(table / "candidates" / "*.parquet")
    assert rows["query_id"].n_unique() == len(world.queries)
    assert rows.group_by("query_id").len()["len"].max() == DEPTH
    some = rows.gather_every(97)
    wanted = [by_transformers(tiny, world.queries[q], world.documents[d]) for q, d in some["query_id", "doc_id"].rows()]
    np.testing.assert_allclose(some["reranker"], wanted, atol=1e-5)

    calibrated = surecut("calibrate", "--table", table, "--max-drop", "50%", "--procedure", "ert", "-o", certificate)
    assert calibrated.status == 3, calibrated.err  # an empirical threshold is not certified, and says so

    query = next(iter(world.queries.values()))
    answered = surecut("rank", certificate, recipe, "--query", query, "--top", DEPTH, "--json")
    assert answered.status == 0, answered.err
    ranking = json.loads(answered.out)[0]
    assert 0 < ranking["kept"] < ranking["candidates"] <= DEPTH
    found = ranking["documents"][: ranking["kept"]]
    assert [each["reranker"] for each in found] == sorted((each["reranker"] for each in found), reverse=True)
    wanted = [by_transformers(tiny, query, world.documents[each["doc_id"]]) for each in found]
    np.testing.assert_allclose([each["reranker"] for each in found], wanted, atol=1e-5)


def test_a_certificate_of_monobert_refuses_monoelectra(world: SimpleNamespace, surecut, tmp_path: Path) -> None:
    certificate = tmp_path / "cert.json"
    surecut("score", world.recipes["bm25", "monobert"], "-o", tmp_path / "table")
    surecut("calibrate", "--table", tmp_path / "table", "--max-drop", "50%", "--procedure", "ert", "-o", certificate)
    refused = surecut("rank", certificate, world.recipes["bm25", "monoelectra"], "--query", making.WORDS[0])
    assert refused.status == 2
    assert "reranker" in refused.err


def test_as_a_process_of_its_own_it_writes_the_same_table_and_nothing_but_its_report(
    world: SimpleNamespace, surecut, tmp_path: Path
) -> None:
    recipe = world.recipes["bm25", "monobert"]
    surecut("score", recipe, "-o", tmp_path / "here")
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "GITHUB_ACTIONS")}
    done = subprocess.run(
        [sys.executable, "-m", "surecut", "score", str(recipe), "-o", str(tmp_path / "there")],
        capture_output=True,
        text=True,
        env=plain | {"SURECUT_CACHE": str(tmp_path / "another"), "OMP_NUM_THREADS": "1"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "Next: surecut calibrate" in done.stdout
    assert "Warning" not in done.stderr
    here, there = (pl.read_parquet(tmp_path / name / "candidates" / "*.parquet") for name in ("here", "there"))
    assert here["query_id", "doc_id"].equals(there["query_id", "doc_id"])
    np.testing.assert_array_equal(there["retriever"], here["retriever"])
    np.testing.assert_allclose(there["reranker"], here["reranker"], atol=1e-5)
