"""surecut export: on the screen, into a file, as JSON; and what it says of a certificate that does not certify."""

import json

import pytest

import surecut as sc


@pytest.fixture(scope="module")
def ranked(systems, tmp_path_factory):
    """A certificate of the rule that every engine executes."""
    runs = systems["calibration"]
    path = tmp_path_factory.mktemp("ranked") / "rank.json"
    data = sc.read_trec(runs.retriever, runs.reranker, runs.qrels)
    sc.calibrate(data, target=sc.max_drop(0.2), rule="rank").save(path)
    return path


def test_the_snippet_is_all_that_is_printed(surecut, ranked):
    done = surecut("export", ranked, "--to", "elasticsearch")
    assert (done.status, done.err) == (0, "")
    assert done.out == sc.load_certificate(ranked).export("elasticsearch").text


def test_into_a_file(surecut, ranked, tmp_path):
    done = surecut("export", ranked, "--to", "vespa", "-o", "profile.sd")
    assert done.status == 0
    assert done.out == ""
    assert (tmp_path / "profile.sd").read_text().startswith("# surecut certificate")
    assert surecut("export", ranked, "--to", "vespa", "-o", "none/profile.sd").status == 2


def test_a_certificate_is_not_written_over(surecut, ranked, systems):
    before = ranked.read_bytes()
    runs = systems["calibration"]
    for verb in (["export", ranked, "--to", "vespa"], ["prune", ranked, "--retriever", runs.retriever]):
        done = surecut(*verb, "-o", ranked)
        assert done.status == 2
        assert "name another file" in done.err
    assert surecut("report", ranked, *runs.options, "-o", ranked).status == 2
    assert ranked.read_bytes() == before


def test_as_json(surecut, ranked):
    record = json.loads(surecut("export", ranked, "--to", "qdrant", "--shards", "1", "--json").out)
    assert record["engine"] == "qdrant"
    assert record["certificate"] == sc.load_certificate(ranked).digest
    assert record["settings"]["limit"] == sc.load_certificate(ranked).mean_kept
    assert "prefetch" in record["snippet"]


def test_from_standard_input(surecut, ranked):
    done = surecut("export", "-", "--to", "pgvector", "--metric", "dot", stdin=ranked.read_bytes())
    assert done.status == 0
    assert "ORDER BY rank" in done.out


def test_a_certificate_that_certifies_nothing_is_exported_with_a_word(surecut, systems):
    surecut("calibrate", *systems["calibration"].options, "--at-least", "0.999", "-o", "none.json")
    done = surecut("export", "none.json", "--to", "opensearch")
    assert done.status == 0
    assert "the certificate is abstained" in done.err
    assert '"size": 20' in done.out


def test_a_refusal_is_one_line_with_commands_to_paste_and_status_2(surecut, certificate):
    done = surecut("export", certificate, "--to", "solr", "--shards", "1")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("surecut: solr executes 'rank' or 'score' only")
    _, *commands = done.err.splitlines()
    assert commands
    assert all(line.startswith("  surecut calibrate ") for line in commands)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--to", "lucene"], "unknown engine 'lucene'"),
        ([], "--to"),
        (["--to", "vespa", "--metric", "dot"], "has no --metric"),
        (["--to", "solr", "--shards", "0"], "--shards"),
        (["--to", "solr"], "--shards 1"),
    ],
)
def test_bad_input(surecut, ranked, options, said):
    done = surecut("export", ranked, *options)
    assert done.status == 2
    assert said in done.err
