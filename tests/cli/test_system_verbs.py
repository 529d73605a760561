"""score, rank and speedup: what they print and what they leave."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.system.making import contents

import surecut as sc
from surecut.system.recipe import read_recipe

QUERY = "balak dalan fenok"


def test_score_fills_a_table_and_says_how_good_it_is(surecut, files):
    ended = surecut("score", "tiny.toml", "-o", "again")
    assert (ended.status, ended.err) == (0, "")
    assert "tiny: 80 queries, 300 documents, in again" in ended.words
    quality = json.loads(Path("again/meta.json").read_text())["quality"]
    assert f"retriever {quality['retriever']:.4f} 69 judged queries" in ended.words
    assert f"reranker {quality['reranker']:.4f}" in ended.words
    assert f"fused {quality['fused']:.4f} weight {quality['beta']:.4g}, from 11 other queries" in ended.words
    assert "Next: surecut calibrate --table again -o cert.json" in ended.words
    assert contents(files / "again") == contents(files / "table")


def test_score_goes_to_scores_if_not_told_otherwise(surecut, files):
    ended = surecut("score", "tiny.toml", "--json")
    assert json.loads(ended.out)["table"] == "scores/tiny"
    assert contents(files / "scores" / "tiny") == contents(files / "table")


def test_score_on_a_finished_table_changes_nothing(surecut, files):
    before = contents(files / "table")
    assert surecut("score", "tiny.toml", "-o", "table").status == 0
    assert contents(files / "table") == before


def test_score_says_when_documents_were_cut(surecut, files):
    recipe = Path("tiny.toml")
    recipe.write_text(recipe.read_text().replace('"./cross"', '"./cross"\nmax_length = 16'))
    ended = surecut("score", "tiny.toml", "-o", "cut")
    assert ended.status == 0
    assert "pairs had more than 16 tokens: their documents were cut" in ended.err


def test_the_table_of_score_can_be_calibrated(surecut, files):
    assert (
        surecut("calibrate", "--table", "table", "--max-drop", "10%", "--fusion", "fit", "-o", "new.json").status == 0
    )
    assert Path("new.json").read_bytes() == Path("cert.json").read_bytes()


def test_rank_shows_the_best_documents(surecut, files):
    ended = surecut("rank", "cert.json", "tiny.toml", "--query", QUERY, "-k", 2)
    assert (ended.status, ended.err) == (0, "")
    ranking = sc.Ranker("cert.json", "tiny.toml").rank(QUERY)
    for place, each in enumerate(ranking.documents[:2], start=1):
        assert f"{place} {each.doc_id} {each.retriever:.4g} {each.reranker:.4g} {each.score:.4g}" in ended.words
    assert f"{ranking.documents[2].doc_id} " not in ended.words.split("score", 1)[1]
    assert "kept" not in ended.words


def test_rank_explains_itself(surecut, files):
    ended = surecut("rank", "cert.json", "tiny.toml", "--query", QUERY, "--explain")
    ranking = sc.Ranker("cert.json", "tiny.toml").rank(QUERY)
    assert f"kept {ranking.kept} of {ranking.candidates}: {ranking.why}" in ended.words
    assert sc.load_certificate("cert.json").statement in ended.words
    assert "retrieve" in ended.words
    assert "rerank" in ended.words


def test_rank_takes_several_queries_and_standard_input(surecut, files):
    ended = surecut("rank", "cert.json", "tiny.toml", "-q", QUERY, "-q", "-", "--json", stdin=b"balak\n\n dalan \n")
    found = json.loads(ended.out)
    assert [each["query"] for each in found] == [QUERY, "balak", "dalan"]
    ranking = sc.Ranker("cert.json", "tiny.toml").rank(QUERY, 10)
    assert found[0]["kept"] == ranking.kept
    assert [each["doc_id"] for each in found[0]["documents"]] == [each.doc_id for each in ranking.documents]
    assert found[0]["documents"][0]["text"] == ranking.documents[0].text


def test_queries_on_standard_input_stand_where_the_dash_stands(surecut, files):
    ended = surecut("rank", "cert.json", "tiny.toml", "-q", "-", "-q", QUERY, "--json", stdin=b"balak\n")
    assert [each["query"] for each in json.loads(ended.out)] == ["balak", QUERY]


@pytest.mark.parametrize(
    ("certificate", "said"),
    [("-", "standard input can be read once only"), ("cert.json", "no query on standard input")],
)
def test_standard_input_without_a_query_is_refused(surecut, files, certificate, said):
    ended = surecut("rank", certificate, "tiny.toml", "-q", "-", stdin=b"\n")
    assert ended.status == 2
    assert said in ended.err


def test_rank_says_how_many_were_reranked(surecut, files):
    ranking = sc.Ranker("cert.json", "tiny.toml").rank(QUERY)
    said = f"{ranking.kept} of {ranking.candidates} candidates reranked; the others are dropped"
    assert said in surecut("rank", "cert.json", "tiny.toml", "-q", QUERY).words


def test_output_that_cannot_be_written_is_one_line(files):
    command = [sys.executable, "-m", "surecut", "rank", "cert.json", "tiny.toml", "-q", QUERY]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == 2
    assert done.stderr == b"surecut: standard output: No space left on device\n"


def test_any_system_allows_another_model(surecut, files):
    Path("tiny.toml").write_text(Path("tiny.toml").read_text().replace("./cross", "./other"))
    for verb in (("rank", "-q", QUERY), ("speedup", "--queries", 2)):
        assert surecut(verb[0], "cert.json", "tiny.toml", *verb[1:]).status == 2
        assert surecut(verb[0], "cert.json", "tiny.toml", *verb[1:], "--any-system").status == 0


def test_speedup_prints_the_ratio_and_the_quality_of_both(surecut, files):
    ended = surecut("speedup", "cert.json", "tiny.toml", "--queries", 9)
    assert (ended.status, ended.err) == (0, "")
    assert "x faster" in ended.words
    assert "9 queries" in ended.words
    assert "with everything reranked" in ended.words
    assert "pruned (9 judged queries)" in ended.words


def test_speedup_as_json(surecut, files):
    found = json.loads(surecut("speedup", "cert.json", "tiny.toml", "--json").out)
    assert (found["queries"], found["measure"], found["measured_queries"]) == (50, "RR@10", 50)
    data = sc.read_table("table").select(read_recipe("tiny.toml").collection.queries.ids[:50])
    assert found["mean_candidates"] == data.retriever.size / 50
    assert 0 < found["mean_kept"] < 30


def test_markup_in_a_name_is_printed_as_it_is(surecut, files):
    recipe = Path("tiny.toml")
    recipe.write_text(recipe.read_text().replace('name = "tiny"', 'name = "[bold]BM25[/x]"'))
    ended = surecut("score", "tiny.toml", "-o", "new")
    assert ended.status == 0
    assert "[bold]BM25[/x]: 80 queries, 300 documents, in new" in ended.words


def test_a_folder_may_have_brackets_in_its_name(surecut, files):
    assert surecut("score", "tiny.toml", "-o", "scores[1]").status == 0
    assert contents(files / "scores[1]") == contents(files / "table")
