"""What the routes answer besides pruning and watching."""

import json
import re

import pytest

from surecut.serve.app import tend
from tests.serve.conftest import PRUNE, scores_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("path", ["/v1/certificates/other", "/v1/certificates/other/monitor", "/v2/health", "/v1"])
async def test_what_is_not_there_is_404(client, path):
    async with client() as service:
        answer = await service.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]


async def test_heads_are_what_gets_are(client):
    """As load balancers ask; paths that take bodies have none."""
    async with client() as service:
        codes = [
            (await service.head(path)).status_code
            for path in ("/v1/health", "/v1/ready", "/v1/certificates", "/metrics", "/monitor", PRUNE)
        ]
    assert codes == [200] * 5 + [405]


async def test_certificates_are_listed_with_how_they_stand(client, certificates):
    async with client() as service:
        listed = (await service.get("/v1/certificates")).json()["certificates"]
        one = (await service.get("/v1/certificates/top")).json()
    assert [(each["name"], each["status"], each["belief"]) for each in listed] == [
        ("main", "certified", "no evidence yet"),
        ("top", "certified", "no evidence yet"),
        ("nothing", "abstained", None),
    ]
    assert one["certificate"] == json.loads(json.dumps(certificates["top"].to_dict()))
    assert one["info"]["digest"] == certificates["top"].digest


async def test_metrics_tell_sizes_times_and_refusals(client, system):
    async with client() as service:
        answer = (await service.post(PRUNE, json={"scores": scores_of(system)})).json()
        await service.post(PRUNE, json={"scores": [1]})
        await service.get("/v1/certificates/other")
        text = (await service.get("/metrics")).text
    assert f'surecut_kept_sum{{certificate="main"}} {float(answer["kept"])}' in text
    assert 'surecut_responses_total{route="/v1/certificates/{name}/prune",status="422"} 1.0' in text
    assert 'surecut_refusals_total{reason="refused"} 1.0' in text
    assert 'surecut_refusals_total{reason="unknown"} 1.0' in text
    assert 'surecut_request_seconds_count{route="/v1/certificates/{name}/prune"} 2.0' in text


async def test_the_openapi_document_describes_every_route(client):
    async with client() as service:
        document = (await service.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.")
    posts = [path for path, operations in document["paths"].items() if "post" in operations]
    assert {path.rsplit("/", 1)[-1] for path in posts} == {"prune", "batch", "rank", "feedback"}
    for path in posts:
        assert set(document["paths"][path]["post"]["requestBody"]["content"]) == {
            "application/json",
            "application/msgpack",
        }
    assert "Validation Error" not in json.dumps(document)


async def test_a_stopping_service_is_not_ready(client, make):
    service = make()
    async with client(service) as asked:
        assert (await asked.get("/v1/ready")).status_code == 200
        service.stopping = True
        assert (await asked.get("/v1/ready")).status_code == 503
        assert (await asked.get("/v1/health")).status_code == 200


async def test_a_mistake_of_its_own_is_said_without_its_words(client, make, monkeypatch, caplog):
    service, words = make(), "a secret text"

    def broken(*_):
        raise RuntimeError(words)

    monkeypatch.setattr(service, "prune", broken)
    with caplog.at_level("ERROR", "surecut.serve"):
        async with client(service) as asked:
            answer = await asked.post(PRUNE, json={"scores": [1]})
    assert answer.status_code == 500
    assert words not in answer.text
    assert all(words not in str(vars(record)) for record in caplog.records)


async def test_the_page_that_describes_it_asks_for_nothing_of_another_address(client):
    """Behind a proxy that ends TLS, an address of its own would be a wrong one."""
    async with client() as service:
        page = (await service.get("/docs", headers={"host": "search.example"})).text
        found = [await service.get(f"/{path}") for path in re.findall(r"(?:src|href)=\"([^\"]+)\"", page)]
        root = await service.get("/", headers={"host": "search.example"})
    assert "://" not in page
    assert [answer.status_code for answer in found] == [200] * 3
    assert root.headers["location"] == "docs"


async def test_where_files_lie_is_not_told(client, make, paths):
    service = make()
    paths["main"].write_text("{")
    tend(service)
    async with client(service) as asked:
        problem = (await asked.get("/v1/certificates")).json()["certificates"][0]["problem"]
    assert problem.startswith("main.json: not a whole JSON document")
