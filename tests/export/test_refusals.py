"""An export does exactly what was certified or refuses, and the refusal's command makes one that is executed."""

import re
import shlex
from dataclasses import replace

import pytest

import surecut as sc
from surecut import InputError
from surecut.cli.values import chosen_target
from surecut.export import ENGINES
from surecut.export.command import calibrate_command

RERANKING = [engine.name for engine in ENGINES if engine.reranks]
APPENDING = ["vespa", "solr"]
DROPPING = [name for name in RERANKING if name not in APPENDING]


def snippet(certificate, engine, **options):
    shards = 1 if ENGINES[engine].window_per_shard else None
    metric = None if ENGINES[engine].metric == "none" else "dot"
    return certificate.export(engine, **{"shards": shards, "metric": metric, **options})


@pytest.mark.parametrize("engine", ENGINES.names())
@pytest.mark.parametrize("kind", ["rank", "score", "score_capped", "agreement", "everything"])
def test_what_every_engine_executes(engine, kind, certificates):
    certificate = getattr(certificates, kind)
    text = snippet(certificate, engine).text
    assert certificate.digest in text
    assert certificate.status in text.split("\n\n")[0]


@pytest.mark.parametrize("engine", ENGINES.names())
def test_another_rule_is_refused(engine, certificates):
    with pytest.raises(InputError, match=r"(?s)rule is 'softmax'.*surecut calibrate .*--max-drop 5% .*--rule rank"):
        snippet(certificates.softmax, engine)


@pytest.mark.parametrize("engine", RERANKING)
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("score_at_least", "keeps at least 2"),
        ("score_append", "drops what is below the score, and the certificate appends it"),
        ("fused", "beta 0.1"),
    ],
)
def test_what_no_reranking_engine_executes(engine, kind, reason, certificates):
    with pytest.raises(InputError, match=f"(?s){reason}.*surecut calibrate"):
        snippet(getattr(certificates, kind), engine)


@pytest.mark.parametrize("engine", DROPPING)
def test_an_engine_that_drops_refuses_to_append(engine, certificates):
    with pytest.raises(InputError, match="drops what it does not rerank"):
        snippet(certificates.rank_append, engine)


@pytest.mark.parametrize("engine", APPENDING)
def test_an_engine_that_appends_takes_both_but_not_for_a_function_of_ones_own(engine, certificates):
    assert snippet(certificates.rank_append, engine).text
    assert snippet(certificates.rank, engine).text
    for own in (certificates.own, replace(certificates.own, rule=certificates.softmax.rule, threshold=-3.0)):
        with pytest.raises(InputError, match=r"'success_at_one' is a function of your own.* take an engine that drops"):
            snippet(own, engine)


def test_an_engine_that_drops_takes_a_function_of_ones_own(certificates):
    assert snippet(certificates.own, "elasticsearch").settings["rank_window_size"] == certificates.own.mean_kept


def test_sql_holds_a_least_number_appends_and_leaves_fusing_to_the_caller(certificates):
    assert "rank <= 2" in snippet(certificates.score_at_least, "pgvector").text
    assert "AS survives" in snippet(certificates.score_append, "pgvector").text
    assert "0.1 * score + 0.9 *" in snippet(certificates.fused, "pgvector").text
    assert "score::float8 - best::float8 >= " in snippet(certificates.gap, "pgvector").text


@pytest.mark.parametrize("engine", ["solr", "opensearch-rescore", "qdrant"])
@pytest.mark.parametrize("shards", [None, 2])
def test_a_window_on_every_shard_is_not_one_window(engine, shards, certificates):
    with pytest.raises(InputError, match="--shards 1"):
        certificates.rank.export(engine, shards=shards)


@pytest.mark.parametrize(
    ("kind", "engine"), [("score", "pgvector"), ("gap", "pgvector"), ("rank", "pgvector"), ("score", "qdrant")]
)
def test_it_must_be_said_how_vectors_are_compared(kind, engine, certificates):
    shards = 1 if engine == "qdrant" else None
    with pytest.raises(InputError, match=r"--metric \(metric=\), cosine: scores are 1 - distance"):
        getattr(certificates, kind).export(engine, shards=shards)
    for metric in ("cosine", "euclid"):
        with pytest.raises(InputError, match=r"scores from 1.207 to 56.79, and with the metric"):
            getattr(certificates, kind).export(engine, metric=metric, shards=shards)
    assert getattr(certificates, kind).export(engine, metric="dot", shards=shards)


def test_a_metric_that_is_not_there_is_refused(certificates):
    assert certificates.rank.export("qdrant", shards=1).settings["limit"]  # ranks need none
    with pytest.raises(InputError, match="known are cosine, dot, euclid"):
        certificates.score.export("qdrant", metric="manhattan")
    with pytest.raises(InputError, match="has no --metric"):
        certificates.score.export("vespa", metric="dot")


def with_scores(certificate, lowest, highest):
    scores = {**certificate.calibration["scores"], "lowest": lowest, "highest": highest}
    return replace(certificate, calibration={**certificate.calibration, "scores": scores})


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch", "opensearch-rescore", "solr"])
def test_an_engine_without_negative_scores_refuses_them(engine, certificates):
    with pytest.raises(InputError, match="never gives a score below 0"):
        snippet(with_scores(certificates.score, -3.0, 9.0), engine)


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch", "opensearch-rescore", "solr"])
def test_a_rule_whose_scores_an_engine_never_gives_is_no_way(engine, certificates):
    with pytest.raises(InputError, match="this makes one") as refused:
        snippet(with_scores(certificates.softmax, -3.0, 9.0), engine)
    assert "--rule rank" in str(refused.value)
    assert "--rule score" not in str(refused.value)


def test_queries_that_were_grouped_are_grouped_again(certificates):
    grouped = replace(certificates.softmax, calibration={**certificates.softmax.calibration, "units": 60})
    with pytest.raises(InputError, match="--groups GROUPS"):
        snippet(grouped, "vespa")
    with pytest.raises(InputError, match=r"with the same options \(--table, --absent, --missing-reranker\)") as refused:
        snippet(certificates.softmax, "vespa")
    assert "--groups" not in str(refused.value)


@pytest.mark.parametrize("shards", [-1, 0, "1", 1.5])
def test_a_number_of_shards_is_one(shards, certificates):
    with pytest.raises(InputError, match="a whole number of at least 1"):
        certificates.rank.export("vespa", shards=shards)


def test_scores_below_minus_one_are_no_cosines(certificates):
    distances = with_scores(certificates.score, -40.0, -0.5)
    with pytest.raises(InputError, match="between -1 and 1"):
        distances.export("pgvector", metric="cosine")
    assert distances.export("pgvector", metric="euclid")


@pytest.mark.parametrize("engine", ENGINES.names())
@pytest.mark.parametrize("kind", ["rank", "score", "score_at_least"])
def test_a_threshold_that_nothing_reaches(engine, kind, certificates):
    unreached = replace(getattr(certificates, kind), threshold=float("inf"), min_keep=0)
    with pytest.raises(InputError, match="leave the reranker out"):
        snippet(unreached, engine)
    text = snippet(replace(unreached, min_keep=2), engine).text
    assert not re.search(r"\binf", text.replace("inference", ""), re.IGNORECASE)
    assert "It reranks the first 2 candidates" in text


@pytest.mark.parametrize("engine", ENGINES.names())
def test_a_window_needs_no_rule(engine, certificates):
    """A threshold that nothing reaches keeps the least number whatever the rule, and that is a window."""
    only = replace(certificates.softmax, threshold=float("inf"), min_keep=3)
    assert "It reranks the first 3 candidates" in snippet(only, engine).text


@pytest.mark.parametrize("value", [0.05, 0.0123456789, 1 / 3])
def test_the_command_makes_the_same_claim(value, certificates):
    certificate = replace(certificates.softmax, target={"kind": "max_drop", "value": value})
    said = re.search(r"--max-drop (\S+)", calibrate_command(certificate, "new.json")).group(1)
    assert chosen_target(None, said, None, None).value == value


def test_a_fitted_weight_is_fitted_again(certificates):
    fitted = replace(certificates.softmax, fusion={"beta": 0.25, "fitted": True})
    with pytest.raises(InputError, match="--fusion fit"):
        snippet(fitted, "pgvector")


def test_a_function_named_like_a_measure_is_refused_at_calibration():
    def nDCG(grades, missed):  # noqa: N802
        return float(len(grades) == 1)

    data = sc.read_table("example:nfcorpus-bm25-minilm")
    with pytest.raises(InputError, match="named 'nDCG', as a built-in measure is"):
        sc.calibrate(data, measure=nDCG)


def test_an_unknown_engine_is_named_with_the_nearest(certificates):
    with pytest.raises(InputError, match="did you mean 'elasticsearch'"):
        certificates.rank.export("elasticserch")


@pytest.mark.parametrize("engine", ENGINES.names())
@pytest.mark.parametrize("kind", ["softmax", "fused", "score_append", "rank_append"])
def test_the_command_of_a_refusal_makes_one_that_is_executed(engine, kind, certificates, surecut, tmp_path):
    if engine == "pgvector" or (kind == "rank_append" and engine in APPENDING):
        kind = "softmax"
    with pytest.raises(InputError) as refused:
        snippet(getattr(certificates, kind), engine)
    commands = re.findall(rf"^  surecut (calibrate .* -o {engine}\.json)$", str(refused.value), flags=re.MULTILINE)
    assert len(commands) == 2
    data = ["--table", "example:scifact-bm25-minilm"]
    for place, command in enumerate(commands):
        words = shlex.split(command.replace("--retriever RUN --reranker RUN --qrels QRELS", " ".join(data)))
        words[-1] = f"{place}.json"
        surecut(*words)
        extra = ["--shards", "1"] if ENGINES[engine].window_per_shard else []
        extra += ["--metric", "dot"] if ENGINES[engine].metric != "none" else []
        assert surecut("export", f"{place}.json", "--to", engine, *extra)
