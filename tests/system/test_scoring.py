"""From a recipe to a table: what it holds, what it says of itself, and when it is made again."""

import json
import shutil
import sys
from pathlib import Path

import ir_measures
import numpy as np
import polars as pl
import pytest

import surecut as sc
from surecut import InputError, read_table
from surecut.system.recipe import read_recipe
from surecut.system.retrievers import ready
from surecut.system.scoring import score
from surecut.watching import Watch
from tests.system.making import After, contents, in_small_blocks, write_beir, write_lines

COMMAND = (sys.executable, "-m", "surecut", "score")


def test_a_table_holds_what_the_stages_say(scored, collection):
    recipe = read_recipe(scored.recipe)
    ready(recipe.retriever, collection.documents)
    hits = recipe.retriever.search(collection.queries, 50)
    scores = recipe.reranker.rerank(collection.queries, hits, collection.documents)
    table = pl.read_parquet(scored.folder / "candidates" / "*.parquet")
    assert (
        table["query_id"].to_list()
        == np.repeat(collection.queries.ids, [each.documents.size for each in hits]).tolist()
    )
    assert table["doc_id"].to_list() == collection.documents.ids.take(np.concatenate([each.documents for each in hits]))
    assert table["retriever"].to_numpy().tobytes() == np.concatenate([each.scores for each in hits]).tobytes()
    assert table["reranker"].to_numpy() == pytest.approx(np.concatenate(scores), rel=1e-5, abs=1e-5)
    assert [str(table.schema[name]) for name in ("retriever", "reranker")] == ["Float32", "Float64"]


def test_meta_says_how_it_was_made_without_a_time_or_a_place(scored):
    meta = json.loads((scored.folder / "meta.json").read_text())
    assert (meta["name"], meta["depth"], meta["queries"], meta["documents"]) == ("tiny", 50, 80, 300)
    assert set(meta["fingerprints"]) == {"retriever", "reranker", "documents", "queries"}
    assert str(scored.folder) not in json.dumps(meta)
    assert read_table(scored.folder).system == {
        part: meta["fingerprints"][part] for part in ("retriever", "reranker", "documents")
    }


def test_judgements_of_the_scored_queries_are_in_the_table(recipe, beir, tmp_path):
    score(read_recipe(recipe(collection=f'beir = "{beir}"\nsample = 40')), tmp_path / "t")
    qrels = pl.read_parquet(tmp_path / "t" / "qrels.parquet")
    assert qrels.height == 40
    assert set(qrels["query_id"]) == set(read_table(tmp_path / "t").query_ids)


def test_the_fusion_weight_is_the_one_calibrate_finds(scored):
    quality = json.loads((scored.folder / "meta.json").read_text())["quality"]
    certificate = sc.calibrate(scored.data, target=sc.max_drop(0.2), fusion="fit")
    assert quality["beta"] == certificate.fusion["beta"]
    assert 0 < quality["beta"] < 1
    assert quality["fused"] == pytest.approx(certificate.calibration["mean_full"], abs=1e-12)
    assert quality["queries"] + quality["tuned_on"] == 80


def test_the_stages_measures_are_those_of_their_orders(recipe, scored, tmp_path):
    score(read_recipe(recipe(fusion='[fusion]\nmeasure = "nDCG@10"')), tmp_path / "t")
    quality = json.loads((tmp_path / "t" / "meta.json").read_text())["quality"]
    rows = pl.read_parquet(tmp_path / "t" / "candidates" / "*.parquet")
    qrels = {query: {doc: grade} for query, doc, grade in pl.read_parquet(tmp_path / "t" / "qrels.parquet").iter_rows()}
    for stage in ("retriever", "reranker"):
        ranked = rows.sort("query_id", stage, descending=[False, True], maintain_order=True)
        run = {}
        for place, (query, doc) in enumerate(ranked.select("query_id", "doc_id").iter_rows()):
            run.setdefault(query, {})[doc] = -float(place)
        found = ir_measures.pytrec_eval.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)
        assert quality[stage] == pytest.approx(found[ir_measures.nDCG @ 10], abs=1e-9)
    assert quality["fused"] == quality["reranker"]


def test_too_few_judged_queries_have_no_quality(recipe, beir, tmp_path):
    score(read_recipe(recipe(collection=f'beir = "{beir}"\nsample = 20')), tmp_path / "t")
    assert json.loads((tmp_path / "t" / "meta.json").read_text())["quality"] is None


def test_queries_that_found_nothing_do_not_count_as_judged(recipe, tmp_path):
    folder = write_beir(tmp_path / "data", queries=40, documents=20)
    lines = [{"_id": f"q{number}", "text": "balak" if number == 0 else "xyzzy"} for number in range(40)]
    write_lines(folder / "queries.jsonl", lines)
    score(read_recipe(recipe(collection='beir = "data"', fusion='[fusion]\nbeta = "fit"')), tmp_path / "t")
    assert json.loads((tmp_path / "t" / "meta.json").read_text())["quality"] is None


def test_another_model_or_another_parameter_is_another_fingerprint(recipe, models, beir, tmp_path):
    def fingerprints(name, **sections):
        sections.setdefault("collection", f'beir = "{beir}"\nsample = 5')
        score(read_recipe(recipe(f"{name}.toml", **sections)), tmp_path / name)
        return json.loads((tmp_path / name / "meta.json").read_text())["fingerprints"]

    first = fingerprints("first")
    model = fingerprints("model", reranker=f'kind = "cross-encoder"\nmodel = "{models.other_cross}"')
    parameter = fingerprints("parameter", retriever='kind = "bm25"\nk1 = 1.2')
    shutil.copytree(beir, tmp_path / "moved" / "collection")
    shutil.copytree(models.cross, tmp_path / "moved" / "model")
    moved = fingerprints(
        "moved-table",
        collection=f'beir = "{tmp_path}/moved/collection"\nsample = 5',
        reranker=f'kind = "cross-encoder"\nmodel = "{tmp_path}/moved/model"',
    )
    assert model == {**first, "reranker": model["reranker"]} != first
    assert parameter == {**first, "retriever": parameter["retriever"]} != first
    assert moved == first


def test_two_writers_at_once_are_refused(recipe, tmp_path):
    def write_too():
        with pytest.raises(InputError, match="another surecut score is writing this table"):
            score(read_recipe(recipe()), tmp_path / "t")

    score(in_small_blocks(recipe()), tmp_path / "t", After(1, write_too))
    assert len(read_table(tmp_path / "t")) == 80


def test_a_finished_table_is_left_alone(scored):
    before = {path: path.stat().st_mtime_ns for path in scored.folder.rglob("*")}

    class Idle(Watch):
        def advance(self, units, pairs=0):
            assert not pairs

    score(read_recipe(scored.recipe), scored.folder, Idle())
    assert {path: path.stat().st_mtime_ns for path in scored.folder.rglob("*")} == before


def test_a_finished_table_follows_its_recipes_name_and_fusion(recipe, tmp_path):
    score(read_recipe(recipe()), tmp_path / "t")
    before = contents(tmp_path / "t")
    score(read_recipe(recipe(name="renamed", fusion="[fusion]\nbeta = 1.0")), tmp_path / "t")
    after = contents(tmp_path / "t")
    old, new = json.loads(before.pop("meta.json")), json.loads(after.pop("meta.json"))
    assert after == before
    assert (new["name"], new["quality"]["fused"]) == ("renamed", old["quality"]["retriever"])


CHANGES = {
    "reranker": {"reranker": 'kind = "cross-encoder"\nmodel = "{other_cross}"'},
    "retriever": {"retriever": 'kind = "bm25"\nb = 0.5'},
    "depth": {"depth": 49},
    "queries": {"collection": 'beir = "{beir}"\nsample = 9'},
}


@pytest.mark.parametrize(("what", "change"), CHANGES.items(), ids=CHANGES)
def test_another_recipe_in_the_same_folder_is_refused(scored, recipe, models, beir, what, change):
    sections = {
        name: each.format(beir=beir, **vars(models)) if isinstance(each, str) else each for name, each in change.items()
    }
    with pytest.raises(InputError, match=f"table: was begun with another {what}; name another folder"):
        score(read_recipe(recipe(**sections)), scored.folder)


def test_changed_documents_are_another_table(recipe, tmp_path):
    folder = write_beir(tmp_path / "data", queries=5, documents=20)
    path = recipe(collection='beir = "data"', depth=5)
    score(read_recipe(path), tmp_path / "t")
    write_lines(folder / "corpus.jsonl", [{"_id": f"d{number}", "text": "balak dalan"} for number in range(20)])
    with pytest.raises(InputError, match="was begun with another documents"):
        score(read_recipe(path), tmp_path / "t")


def test_changed_judgements_do_not_leave_an_old_table_standing(recipe, tmp_path):
    folder = write_beir(tmp_path / "data", queries=5, documents=20)
    path = recipe(collection='beir = "data"', depth=5)
    score(read_recipe(path), tmp_path / "t")
    qrels = folder / "qrels" / "test.tsv"
    qrels.write_text(qrels.read_text().replace("\t1\n", "\t2\n"))
    score(read_recipe(path), tmp_path / "t")
    assert set(pl.read_parquet(tmp_path / "t" / "qrels.parquet")["relevance"]) == {2}


@pytest.mark.parametrize("fusion", ["", '[fusion]\nbeta = "fit"'])
def test_judgements_without_anything_relevant_still_make_a_table(recipe, tmp_path, fusion):
    folder = write_beir(tmp_path / "data", queries=70, documents=20)
    qrels = folder / "qrels" / "test.tsv"
    qrels.write_text(qrels.read_text().replace("\t1\n", "\t0\n"))
    score(read_recipe(recipe(collection='beir = "data"', depth=5, fusion=fusion)), tmp_path / "t")
    assert len(read_table(tmp_path / "t")) > 60


def test_a_query_that_finds_nothing_has_no_rows(recipe, tmp_path):
    folder = write_beir(tmp_path / "data", queries=5, documents=20)
    asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    write_lines(folder / "queries.jsonl", [{**asked[0], "text": "the of and"}, *asked[1:]])
    score(read_recipe(recipe(collection='beir = "data"', depth=5)), tmp_path / "t")
    assert set(read_table(tmp_path / "t").query_ids) == {"q1", "q2", "q3", "q4"}


def test_a_folder_that_cannot_be_made_is_named(recipe, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file/t: cannot be written"):
        score(read_recipe(recipe()), tmp_path / "file" / "t")


def test_a_folder_that_cannot_be_written_to_is_named(recipe):
    with pytest.raises(InputError, match="/proc"):
        score(read_recipe(recipe()), Path("/proc"))


@pytest.fixture
def too_long(recipe, models, tmp_path):
    """A recipe with queries of which some are too long for the reranker."""

    def written(*names):
        folder = write_beir(tmp_path / "data", queries=30, documents=20)
        asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
        texts = [each["text"] + " balak" * 100 if each["_id"] in names else each["text"] for each in asked]
        write_lines(folder / "queries.jsonl", [{**each, "text": text} for each, text in zip(asked, texts, strict=True)])
        section = f'kind = "cross-encoder"\nmodel = "{models.cross}"\nmax_length = 64'
        return recipe(collection='beir = "data"', depth=5, reranker=section)

    return written


@pytest.mark.parametrize("long", [("q3",), ("q0", "q1", "q29")], ids=str)
def test_a_query_too_long_for_the_model_is_named_and_does_not_stop_the_job(too_long, tmp_path, long):
    report = score(in_small_blocks(too_long(*long)), tmp_path / "t")
    assert sorted((each.query_id, each.doc_id) for each in report.failures) == sorted((name, None) for name in long)
    assert all("tokens and the model takes 64" in each.reason for each in report.failures)
    rows = pl.read_parquet(tmp_path / "t" / "candidates" / "*.parquet")
    assert set(rows.filter(pl.col("reranker").is_null())["query_id"]) == set(long)
    assert rows.filter(pl.col("query_id").is_in(long))["retriever"].null_count() == 0


def test_a_model_that_is_too_small_for_every_query_ends_the_job(too_long, tmp_path):
    with pytest.raises(InputError, match=r"^query 'q\d+': the query '.*' alone has \d+ tokens and the model takes 64"):
        score(read_recipe(too_long(*(f"q{number}" for number in range(30)))), tmp_path / "t")


def test_queries_that_are_not_in_the_table_are_counted(recipe, tmp_path):
    folder = write_beir(tmp_path / "data", queries=5, documents=20)
    asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    write_lines(folder / "queries.jsonl", [{**asked[0], "text": "the of and"}, *asked[1:-1]])
    score(read_recipe(recipe(collection='beir = "data"', depth=5)), tmp_path / "t")
    meta = json.loads((tmp_path / "t" / "meta.json").read_text())
    assert (meta["queries"], meta["queries_without_candidates"], meta["judged_queries_without_text"]) == (4, 1, 1)


def test_the_quality_of_a_table_in_many_parts_is_that_of_the_whole(recipe, scored, tmp_path, monkeypatch):
    monkeypatch.setattr("surecut.system.growing._ROWS_PER_PART", 700)
    fusion = '[fusion]\nbeta = "fit"'
    score(in_small_blocks(recipe(fusion=fusion)), tmp_path / "t")
    assert len(list((tmp_path / "t" / "candidates").iterdir())) > 3
    found, whole = (json.loads((each / "meta.json").read_text())["quality"] for each in (tmp_path / "t", scored.folder))
    assert found == pytest.approx(whole, abs=1e-12)


def test_paths_will_do(recipe, scored, tmp_path):
    sc.score(str(recipe(fusion='[fusion]\nbeta = "fit"')), str(tmp_path / "t"))
    assert sc.read_table(tmp_path / "t").fingerprint() == scored.data.fingerprint()


def test_judgements_of_other_documents_are_refused_before_anything_is_scored(recipe, tmp_path):
    folder = write_beir(tmp_path / "data", queries=5, documents=20)
    qrels = folder / "qrels" / "test.tsv"
    qrels.write_text(qrels.read_text().replace("\td", "\tother-"))
    with pytest.raises(InputError, match="none of the judged documents is in the collection"):
        score(read_recipe(recipe(collection='beir = "data"')), tmp_path / "t")
    assert not list((tmp_path / "t").iterdir())
