"""Every snippet in the hands of the engine's own client or schema."""

import json
import re
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from xml.etree import ElementTree

import numpy as np
import pytest
from elasticsearch import Elasticsearch
from opensearch.protobufs.schemas import Rescore, RescoreQuery, SearchRequestBody
from opensearchpy import OpenSearch
from qdrant_client import models
from vespa.package import Document, FirstPhaseRanking, GlobalPhaseRanking, RankProfile, Schema

from tests.export.test_refusals import snippet

KINDS = ["rank", "score", "score_capped", "everything"]


@pytest.fixture(params=KINDS)
def certificate(request, certificates):
    return getattr(certificates, request.param)


@pytest.fixture
def server():
    """Remembers what it was asked; answers as an engine without documents does."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.command, self.path, json.loads(body)))
            answer = json.dumps({"hits": {"hits": []}, "took": 1, "acknowledged": True}).encode()
            self.send_response(200)
            self.send_header("Content-Type", self.headers.get("Accept", "application/json"))
            self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_PUT = do_POST  # noqa: N815

        def log_message(self, *_):
            pass

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}", asked
    listening.shutdown()
    thread.join()
    listening.server_close()


def requests_in(text):
    """The console's requests: (method, path, body)."""
    plain = "\n".join(line for line in text.splitlines() if not line.startswith(("#", "//")))
    parts = re.split(r"^(PUT|POST) (\S+)$", plain, flags=re.MULTILINE)[1:]
    return [(parts[i], parts[i + 1], json.loads(parts[i + 2])) for i in range(0, len(parts), 3)]


def test_vespa_is_what_pyvespa_writes(certificate):
    found = snippet(certificate, "vespa")
    first = FirstPhaseRanking("bm25(text)", rank_score_drop_limit=found.settings.get("rank-score-drop-limit"))
    last = GlobalPhaseRanking("onnx(cross_encoder){d0:0,d1:0}", rerank_count=found.settings["rerank-count"])
    schema = Schema("doc", Document())
    schema.add_rank_profile(RankProfile("surecut", first_phase=first, global_phase=last))
    theirs = schema.schema_to_text
    theirs = theirs[theirs.index("rank-profile") : theirs.rindex("}")]
    ours = "\n".join(line for line in found.text.splitlines() if not line.startswith("#"))

    def words(text):
        return re.sub(r"expression \{\s*(\S.*)\n\s*\}\n", r"expression: \1\n", text).split()

    assert words(ours) == words(theirs)


def test_a_small_limit_of_vespa_has_no_exponent(certificates):
    text = replace(certificates.score, threshold=3.7e-9).export("vespa").text
    limit = re.search(r"rank-score-drop-limit: (\S+)", text).group(1)
    assert re.fullmatch(r"-?\d+\.\d+", limit)
    assert 0 < float(limit) < 3.7e-9


def test_elasticsearch_gets_the_body(certificate, server):
    """Its client sends what was printed; it does not look into retrievers, so that their keys are checked by hand."""
    url, asked = server
    found = snippet(certificate, "elasticsearch")
    ((method, path, body),) = requests_in(found.text)
    with Elasticsearch(url) as client:
        client.search(index="INDEX", **body)
    assert asked == [(method, f"/{path}", body)]
    reranker = body["retriever"]["text_similarity_reranker"]
    assert reranker.keys() == {"retriever", "field", "inference_id", "inference_text", "rank_window_size"}
    assert body["size"] <= reranker["rank_window_size"] == found.settings["rank_window_size"]
    assert reranker["retriever"]["standard"].get("min_score") == found.settings.get("min_score")


def test_opensearch_takes_the_bodies(certificate, server):
    url, asked = server
    found = snippet(certificate, "opensearch")
    (_, _, pipeline), (_, path, body) = requests_in(found.text)
    client = OpenSearch(url)
    client.transport.perform_request("PUT", "/_search/pipeline/surecut", body=pipeline)
    client.search(index="INDEX", body=body, params={"search_pipeline": "surecut"})
    client.close()
    assert [each[2] for each in asked] == [pipeline, body]
    assert asked[1][1] == f"/{path}"
    assert body.keys() <= set(SearchRequestBody.DESCRIPTOR.fields_by_name)
    SearchRequestBody(size=body["size"], min_score=body.get("min_score"))
    assert certificate.digest in pipeline["description"]


def test_the_fields_of_a_rescore_are_opensearchs(certificate):
    ((_, _, body),) = requests_in(snippet(certificate, "opensearch-rescore").text)
    assert body.keys() <= set(SearchRequestBody.DESCRIPTOR.fields_by_name)
    assert body["rescore"].keys() == set(Rescore.DESCRIPTOR.fields_by_name)
    assert body["rescore"]["query"].keys() <= set(RescoreQuery.DESCRIPTOR.fields_by_name)
    assert body["size"] <= body["rescore"]["window_size"]


def test_a_plain_query_of_qdrant_is_its_prefetch(certificate):
    ((_, _, body),) = requests_in(snippet(certificate, "qdrant-query").text)
    ((_, _, whole),) = requests_in(snippet(certificate, "qdrant").text)
    assert models.QueryRequest.model_validate(body).limit == certificate.most_kept
    assert body == whole["prefetch"]


def test_qdrant_takes_the_body(certificate):
    ((_, _, body),) = requests_in(snippet(certificate, "qdrant").text)
    request = models.QueryRequest.model_validate(body)
    assert request.prefetch.limit == body["prefetch"]["limit"]
    assert request.prefetch.score_threshold == body["prefetch"].get("score_threshold")
    with pytest.raises(ValueError, match="Extra inputs"):
        models.QueryRequest.model_validate({**body, "prefetchh": {}})


def test_solr_is_a_request_handler(certificate):
    found = snippet(certificate, "solr")
    handler = ElementTree.fromstring(found.text)
    assert handler.tag == "requestHandler"
    parameters = {each.get("name"): each.text for part in handler for each in part}
    parts = {part.get("name"): [each.get("name") for each in part] for part in handler}
    appended = {"appends": ["fq"]} if "fq" in parameters else {}
    assert parts == {"defaults": ["rows"], "invariants": ["rq"], **appended}
    assert f"reRankDocs={found.settings['reRankDocs']} " in parameters["rq"]
    assert ("fq" in parameters) == (certificate.rule["name"] == "score")
    assert parameters.pop("rows") == "10"
    for value in parameters.values():
        assert re.fullmatch(r"\{!(\w+)( \w+=\S+)+\}.*", value)


def numbers_of(engine, text):
    """The window and the limit that stand in a snippet, and how the engine compares with it."""
    found = {name: float(value) for name, value in re.findall(r'"?([\w-]+)"?[:=] ?(-?\d+\.?[\d.e-]*)', text)}
    if engine == "vespa":
        return found["rerank-count"], found.get("rank-score-drop-limit"), lambda score, limit: score > limit
    if engine in ("qdrant", "qdrant-query"):
        return found["limit"], found.get("score_threshold"), lambda score, limit: np.float32(score) > np.float32(limit)
    windows = {"elasticsearch": "rank_window_size", "opensearch": "size", "opensearch-rescore": "window_size"}
    window = found[windows.get(engine, "reRankDocs")]
    limit = found.get("l" if engine == "solr" else "min_score")
    return window, limit, lambda score, limit: np.float32(score) >= np.float32(limit)


@pytest.mark.parametrize(
    ("measure", "window", "least"),
    [("RR@10", 27, 10), ("RR@1", 27, 1), ("Overlap@20", 27, 20), ("nDCG@50", 27, 27), ("AP", 27, 27), ("own", 4, 4)],
)
def test_an_answer_holds_what_the_measure_looks_at(measure, window, least, certificates):
    certificate = replace(certificates.rank, measure=measure, threshold=-float(window))
    for engine, setting in [
        ("elasticsearch", r'"size": (\d+)'),
        ("opensearch", r'"size": (\d+)'),
        ("opensearch-rescore", r'"size": (\d+)'),
        ("qdrant", r'"limit": (\d+)\n}'),
    ]:
        text = snippet(certificate, engine).text
        shown = int(re.search(setting, text).group(1))
        assert max(least, min(10, window)) <= shown <= window
        assert engine == "opensearch" or f"must be at least {least}, or {measure}" in " ".join(
            line.lstrip("#/ ") for line in text.splitlines()
        )


@pytest.mark.parametrize(("measure", "least"), [("RR@10", 10), ("Overlap@40", 40), ("AP", 100)])
def test_an_engine_that_appends_is_asked_for_as_much_as_the_measure_looks_at(measure, least, certificates):
    certificate = replace(certificates.rank_append, measure=measure)
    assert f'"rows">{least}<' in snippet(certificate, "solr").text
    words = " ".join(line.lstrip("# ") for line in snippet(certificate, "vespa").text.splitlines())
    assert f"hits of a query must be at least {least}, or {measure}" in words


@pytest.mark.parametrize(
    "engine", ["vespa", "elasticsearch", "opensearch", "opensearch-rescore", "qdrant", "qdrant-query", "solr"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_keep_what_the_certificate_keeps(engine, kind, certificates, scifact):
    """As the engine would: compare in its precision, cut at its window; on real lists, and on scores at the edge."""
    certificate = getattr(certificates, kind)
    text = snippet(certificate, engine).text
    body = text.split("prefetch")[-1].split("}")[0] if engine == "qdrant" else text
    window, limit, passes = numbers_of(engine, body)
    lists = [scifact.retriever[low:high] for low, high in zip(scifact.offsets, scifact.offsets[1:], strict=False)]
    if limit is not None:
        edge = np.float32(certificate.threshold)
        steps = [edge, np.nextafter(edge, np.float32(99)), np.nextafter(edge, np.float32(-99))]
        lists.append(np.array(sorted([40.0, *steps], reverse=True), dtype=np.float32))
    for scores in lists:
        kept = sum(limit is None or passes(float(score), limit) for score in scores[: int(window)])
        assert kept == certificate.keep(scores, any_length=True)
