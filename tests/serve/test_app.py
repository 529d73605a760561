"""What the routes answer."""

import base64
import json
import sqlite3

import msgspec
import numpy as np
import pytest

import surecut as sc
from surecut.monitoring.feedback import as_feedback
from surecut.serve.limits import Limits
from tests.serve.conftest import DEPTH, scores_of

pytestmark = pytest.mark.anyio
PRUNE = "/v1/certificates/main/prune"


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_survivors_are_those_of_the_certificate(client, certificates, system):
    scores, ids = scores_of(system), [f"d{place:02}" for place in range(DEPTH)]
    async with client() as service:
        answer = await service.post(PRUNE, json={"scores": scores, "ids": ids})
    kept = certificates["main"].keep(scores)
    assert answer.status_code == 200
    digest = certificates["main"].digest
    assert answer.json() == {
        "survivors": ids[:kept],
        "kept": kept,
        "candidates": DEPTH,
        "certificate": digest,
        "fallback": False,
    }


async def test_order_does_not_matter_and_without_ids_positions_come_back(client, certificates, system):
    order = np.random.default_rng(0).permutation(DEPTH)
    shuffled = np.array(scores_of(system))[order]
    async with client() as service:
        answer = (await service.post(PRUNE, json={"scores": shuffled.tolist()})).json()
    assert answer["survivors"] == certificates["main"].survivors(shuffled).tolist()


async def test_equal_scores_go_by_id_as_in_calibration(client, certificates):
    scores, ids = [5.0, 5.0, 5.0, *range(4, 4 - DEPTH + 3, -1)], [f"d{place}" for place in range(DEPTH)]
    async with client() as service:
        answer = (await service.post("/v1/certificates/top/prune", json={"scores": scores, "ids": ids})).json()
    expected = certificates["top"].survivors(scores, ids)
    assert answer["survivors"] == [ids[place] for place in expected]
    assert answer["survivors"][0] == "d2"


@pytest.mark.parametrize("form", ["list", "bytes"])
async def test_messagepack_says_the_same_as_json(client, system, form):
    scores, ids = scores_of(system), [f"d{place:02}" for place in range(DEPTH)]
    packed = np.array(scores, dtype="<f4").tobytes() if form == "bytes" else scores
    async with client() as service:
        plain = (await service.post(PRUNE, json={"scores": scores, "ids": ids})).json()
        answer = await service.post(
            PRUNE,
            content=msgspec.msgpack.encode({"scores": packed, "ids": ids}),
            headers={"content-type": "application/msgpack"},
        )
        as_json = await service.post(
            PRUNE,
            content=msgspec.msgpack.encode({"scores": packed, "ids": ids}),
            headers={"content-type": "application/msgpack", "accept": "application/json"},
        )
        coded = await service.post(
            PRUNE, json={"scores": base64.b64encode(np.float32(scores).tobytes()).decode(), "ids": ids}
        )
    assert answer.headers["content-type"] == "application/msgpack"
    assert msgspec.msgpack.decode(answer.content) == plain == as_json.json() == coded.json()


async def test_a_batch_is_many_queries(client, system):
    queries = [{"scores": scores_of(system, query)} for query in range(20)]
    async with client() as service:
        alone = [(await service.post(PRUNE, json=query)).json() for query in queries]
        batch = await service.post(f"{PRUNE}/batch", json={"queries": queries})
        empty = await service.post(f"{PRUNE}/batch", json={"queries": []})
    assert batch.json() == {"results": alone}
    assert empty.json() == {"results": []}


async def test_an_empty_list_keeps_nothing(client, certificates):
    async with client() as service:
        answer = await service.post(PRUNE, json={"scores": [], "ids": []})
    assert (answer.json()["survivors"], answer.json()["kept"], answer.json()["candidates"]) == ([], 0, 0)


@pytest.mark.parametrize(
    ("body", "status", "complaint"),
    [
        (b"", 400, "truncated"),
        (b"{", 400, "truncated"),
        (b'{"ids": []}', 400, "missing required field 'scores'"),
        (b'{"scores": "AAA="}', 422, "2 bytes, which are no 32-bit floats"),
        (b'{"scores": [1], "more": 1}', 400, "unknown field"),
        (b'{"scores": ["1"]}', 400, "Expected 'float'"),
        (b'{"scores": [1e999]}', 400, "out of range"),
        (b'{"scores": [1e300]}', 422, "no first-stage score"),
        (b'{"scores": [3, 2, 1], "ids": ["a", "b"]}', 422, "3 first-stage scores for 2 ids"),
        (b'{"scores": [3, 2], "ids": ["a", "a"]}', 422, "'a' is twice"),
        (b'{"scores": [3, 2, 1]}', 422, "looks at the whole list"),
        (b'{"scores": ' + b"[" * 5_000, 400, "Expected 'float'"),
        (b'{"scores": [' + b"1," * 60 + b"1]}", 422, "at most 40"),
    ],
)
async def test_what_cannot_be_pruned_is_refused_in_a_sentence(client, body, status, complaint):
    async with client() as service:
        answer = await service.post(PRUNE, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert complaint in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


async def test_a_form_of_a_web_page_is_no_request(client):
    """What a browser sends to anywhere without asking is not taken for JSON."""
    async with client() as service:
        for form in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data"):
            answer = await service.post(PRUNE, content=b'{"scores": []}', headers={"content-type": form})
            assert answer.status_code == 415
        assert (await service.post(PRUNE, content=b'{"scores": []}')).status_code == 415  # a blob without a type


async def test_the_query_that_refuses_a_batch_is_named(client, system):
    queries = [{"scores": scores_of(system)}, {"scores": scores_of(system)}, {"scores": [1.0, 0.5]}]
    async with client() as service:
        unnamed = await service.post(f"{PRUNE}/batch", json={"queries": queries})
        named = await service.post(f"{PRUNE}/batch", json={"queries": [{**queries[2], "id": "short"}]})
    assert unnamed.json()["error"].startswith("query '2': a list of 2 candidates")
    assert named.json()["error"].startswith("query 'short': ")


async def test_an_id_that_no_database_keeps_is_malformed_whether_sampled_or_not(client, make, system):
    for observed in (0.0, 1.0):
        async with client(make(observed=observed)) as service:
            answer = await service.post(PRUNE, json={"scores": scores_of(system), "id": "a\0b"})
        assert answer.status_code == 400


@pytest.mark.parametrize("path", ["/v1/certificates/other", "/v1/certificates/other/monitor", "/v2/health", "/v1"])
async def test_what_is_not_there_is_404(client, path):
    async with client() as service:
        answer = await service.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]


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


async def test_feedback_is_counted_and_seen(client, system):
    records = [msgspec.to_builtins(each) for each in list(as_feedback(system))[:50]]
    async with client() as service:
        first = (await service.post("/v1/certificates/main/feedback", json={"records": records})).json()
        again = (await service.post("/v1/certificates/main/feedback", json={"records": records})).json()
        monitored = (await service.get("/v1/certificates/main/monitor")).json()
    assert first == {"records": 50, "counted": {"claim": 50, "agreement": 50, "drift": 50}, "known": 0, "others": 0}
    assert again["known"] == 50
    assert monitored["standing"]["belief"] == "believed"
    assert monitored["history"]["claim"][-1]["count"] == 50


async def test_feedback_is_counted_whole_or_not_at_all(client):
    fine = [{"id": f"fine{number}", "measured": 1, "full": 1} for number in range(900)]
    records = [*fine, {"id": "odd", "ids": ["a", "a"], "retriever": [2, 1]}]
    async with client() as service:
        answer = await service.post("/v1/certificates/main/feedback", json={"records": records})
        monitored = (await service.get("/v1/certificates/main/monitor")).json()
    assert answer.status_code == 422
    assert monitored["standing"]["claim"]["count"] == 0


async def test_without_a_monitor_there_is_no_feedback(client):
    async with client(monitored=False) as service:
        answers = [
            await service.post("/v1/certificates/main/feedback", json={"records": []}),
            await service.get("/v1/certificates/main/monitor"),
            await service.post("/v1/certificates/main/rank", json={"query": "q", "documents": []}),
        ]
    assert [answer.status_code for answer in answers] == [409, 409, 409]
    assert "--monitor" in answers[0].json()["error"]
    assert "--reranker" in answers[2].json()["error"]


async def test_a_certificate_that_is_not_believed_prunes_nothing_if_told_so(client, make, system):
    scores = scores_of(system)
    bad = [{"id": f"q{number}", "measured": 0, "full": 1} for number in range(300)]
    for falls_back in (False, True):
        async with client(make(fall_back=falls_back)) as service:
            await service.post("/v1/certificates/main/feedback", json={"records": bad})
            answer = (await service.post(PRUNE, json={"scores": scores})).json()
            longer = await service.post(PRUNE, json={"scores": [*scores, scores[-1] - 1]})
            listed = (await service.get("/v1/certificates")).json()["certificates"][0]
        assert answer["fallback"] is falls_back
        assert (answer["kept"] == DEPTH) is falls_back
        assert answer["survivors"] == list(range(answer["kept"]))
        assert (longer.status_code == 200) is falls_back  # nothing is claimed, so nothing is refused
        assert (listed["belief"], listed["falls_back"]) == ("not believed", falls_back)


async def test_sampled_traffic_is_watched(client, make, system):
    from surecut.serve.app import tend

    service = make(observed=1.0)
    async with client(service) as asked:
        for query in range(30):
            await asked.post(PRUNE, json={"scores": scores_of(system, query), "id": f"q{query}"})
        await asked.post(PRUNE, json={"scores": scores_of(system, 0), "id": "q0"})  # asked again
        await asked.post(PRUNE, json={"scores": scores_of(system, 0)})  # might have been asked before
        tend(service)
        found = (await asked.get("/v1/certificates/main/monitor")).json()["standing"]["drift"]
    assert found["count"] == 30


async def test_a_share_of_the_queries_is_sampled_the_same_ones_everywhere(client, make, system):
    from surecut.serve.app import tend

    found = []
    for _ in range(2):
        service = make(observed=0.3)
        async with client(service) as asked:
            for query in range(100):
                await asked.post(PRUNE, json={"scores": scores_of(system, query), "id": f"q{query}"})
            tend(service)
            found.append((await asked.get("/v1/certificates/main/monitor")).json()["standing"]["drift"]["count"])
    assert 10 < found[0] == found[1] < 60


async def test_scores_that_were_allowed_are_watched_too(client, paths, tmp_path, system):
    from surecut.certificate import load_certificate
    from surecut.monitoring.store import Store
    from surecut.serve.app import tend
    from surecut.serve.service import Service
    from surecut.serve.shelf import Shelf

    shelf = Shelf(paths, load_certificate, any_length=True, any_system=True)
    service = Service(shelf, store=Store(tmp_path / "monitor.db"), observed=1.0)
    async with client(service) as asked:
        for query in range(20):
            scores = [1000 + score for score in scores_of(system, query)][:30]
            await asked.post(PRUNE, json={"scores": scores, "id": f"q{query}"})
        tend(service)
        found = (await asked.get("/v1/certificates/main/monitor")).json()["standing"]["drift"]
    assert found["count"] == 20


async def test_a_store_that_does_not_answer_is_503_and_loses_nothing(client, make, system, tmp_path, monkeypatch):
    from surecut.monitoring.store import StoreUnavailable
    from surecut.serve.app import tend

    monkeypatch.setattr("surecut.monitoring.store._PATIENCE", 0.2)
    service = make(observed=1.0, fall_back=True)
    with sqlite3.connect(tmp_path / "monitor.db") as other:
        async with client(service) as asked:
            other.execute("BEGIN IMMEDIATE")
            record = {"id": "a", "measured": 1, "full": 1}
            refused = await asked.post("/v1/certificates/main/feedback", json={"records": [record]})
            pruned = await asked.post(PRUNE, json={"scores": scores_of(system), "id": "q1"})
            with pytest.raises(StoreUnavailable):
                tend(service)
            other.rollback()
            tend(service)
            found = (await asked.get("/v1/certificates/main/monitor")).json()["standing"]
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) > 0
    assert str(tmp_path) not in refused.text
    assert pruned.status_code == 200
    assert found["drift"]["count"] == 1


async def test_disbelief_outlives_a_restart_and_a_reload_but_not_another_certificate(
    client, make, system, paths, certificates
):
    from surecut.monitoring.monitor import Monitor
    from surecut.serve.app import tend

    service = make(fall_back=True)
    bad = [{"id": f"q{number}", "measured": 0, "full": 1} for number in range(300)]

    async def falls_back(asked) -> bool:
        return (await asked.post(PRUNE, json={"scores": scores_of(system)})).json()["fallback"]

    async with client(service) as asked:
        await asked.post("/v1/certificates/main/feedback", json={"records": bad})
        seen = [await falls_back(asked)]
        Monitor(certificates["main"], service.store).restart()
        paths["main"].touch()
        tend(service)
        seen.append(await falls_back(asked))
        certificates["top"].save(paths["main"])
        service.shelf.reload()
        seen.append(await falls_back(asked))  # the same digest is served as 'top', and is known
        sc.calibrate(system, target=sc.max_drop(0.07)).save(paths["main"])
        service.shelf.reload()
        seen.append(await falls_back(asked))  # nobody has looked yet
        tend(service)
        seen.append(await falls_back(asked))
    assert seen == [True, True, False, True, False]


async def test_feedback_on_another_certificates_list_is_told_apart(client, make, system, paths, certificates):
    service = make()
    async with client(service) as asked:
        served = (await asked.post(PRUNE, json={"scores": scores_of(system), "id": "q1"})).json()["certificate"]
        certificates["top"].save(paths["main"])
        service.shelf.reload()
        record = {"id": "q1", "measured": 0, "full": 1, "certificate": served}
        found = (await asked.post("/v1/certificates/main/feedback", json={"records": [record]})).json()
    assert (found["counted"]["claim"], found["others"]) == (0, 1)


async def test_halves_that_do_not_fit_are_no_mistake_of_the_services(client):
    url = "/v1/certificates/main/feedback"
    async with client() as asked:
        answers = [
            await asked.post(url, json={"records": [record]})
            for record in (
                {"id": "m", "reranker": [1, 2, 3]},
                {"id": "m", "ids": ["a", "b"], "retriever": [2, 1]},
                {"id": "n", "ids": ["a"], "retriever": [1]},
                {"id": "m", "measured": 1, "full": 1},
            )
        ]
    assert [answer.status_code for answer in answers] == [422, 422, 422, 200]


async def test_names_of_other_sites_are_not_answered(client, make):
    async with client(make(hosts=frozenset(("127.0.0.1", "localhost", "[::1]")))) as asked:
        codes = [
            (await asked.get("/v1/certificates", headers={"host": host})).status_code
            for host in ("127.0.0.1:8000", "localhost", "[::1]:80", "rebound.example", "127.0.0.1.example:8000", "")
        ]
    assert codes == [200, 200, 200, 421, 421, 421]


async def test_ids_that_come_twice_take_no_time_to_find(client, make):
    ids = [str(place) for place in range(9_999)]
    async with client(make()) as asked:
        answer = await asked.post(PRUNE, json={"scores": list(range(10_000, 0, -1)), "ids": [*ids, ids[-1]]})
    assert "'9998' is twice" in answer.json()["error"]


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


async def test_keys_open_what_has_data(client, system):
    key = "a long enough key"
    async with client(keys=(key, "another long key")) as service:
        codes = [
            (await service.post(PRUNE, json={"scores": scores_of(system)}, headers=headers)).status_code
            for headers in (
                {},
                {"x-api-key": "a long enough keY"},
                {"x-api-key": key},
                {"authorization": f"Bearer {key}"},
                {"authorization": f"Basic {key}"},
                {"x-api-key": "another long key"},
            )
        ]
        opened = [
            (await service.get(path)).status_code for path in ("/v1/health", "/v1/ready", "/openapi.json", "/monitor")
        ]
        closed = [(await service.get(path)).status_code for path in ("/metrics", "/v1/certificates", "/nowhere")]
    assert codes == [401, 401, 200, 200, 401, 200]
    assert opened == [200] * 4
    assert closed == [401] * 3


async def test_limits_are_kept(client, system):
    scores = scores_of(system)
    async with client(limits=Limits(body=2_000, queries=3, candidates=DEPTH - 1)) as service:
        answers = [
            await service.post(PRUNE, content=b" " * 2_001, headers={"content-type": "application/json"}),
            await service.post(f"{PRUNE}/batch", json={"queries": [{"scores": []}] * 4}),
            await service.post(PRUNE, json={"scores": scores}),
            await service.post(
                "/v1/certificates/main/feedback", json={"records": [{"id": str(number)} for number in range(4)]}
            ),
        ]
    assert [answer.status_code for answer in answers] == [413] * 4


async def test_a_body_that_does_not_say_its_length_is_bounded_too(client):
    async def endless():
        while True:
            yield b"[" * 100_000

    async with client(limits=Limits(body=1_000_000)) as service:
        answer = await service.post(PRUNE, content=endless(), headers={"content-type": "application/json"})
    assert answer.status_code == 413


async def test_a_client_that_asks_too_often_waits(client):
    async with client(limits=Limits(rate=3.0)) as service:
        codes = [(await service.get("/v1/certificates")) for _ in range(6)]
        health = [(await service.get("/v1/health")).status_code for _ in range(6)]
    assert [answer.status_code for answer in codes].count(429) >= 2
    assert health == [200] * 6
    assert int(next(answer for answer in codes if answer.status_code == 429).headers["retry-after"]) >= 1


async def test_guessing_keys_is_limited_too(client):
    async with client(keys=("a long enough key",), limits=Limits(rate=3.0)) as service:
        codes = [(await service.get("/v1/certificates")).status_code for _ in range(8)]
        right = await service.get("/v1/certificates", headers={"x-api-key": "a long enough key"})
    assert codes.count(429) >= 3
    assert right.status_code == 200


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
