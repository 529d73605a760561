"""Who is let in: keys, names, sizes and rates."""

import asyncio
import gc
import weakref

import pytest

from surecut.serve.limits import Limits
from surecut.serve.refusing import Refusal
from tests.serve.conftest import DEPTH, PRUNE, scores_of

pytestmark = pytest.mark.anyio


async def test_names_of_other_sites_are_not_answered(client, make):
    async with client(make(hosts=frozenset(("127.0.0.1", "localhost", "[::1]")))) as asked:
        codes = [
            (await asked.get("/v1/certificates", headers={"host": host})).status_code
            for host in ("127.0.0.1:8000", "localhost", "[::1]:80", "rebound.example", "127.0.0.1.example:8000", "")
        ]
    assert codes == [200, 200, 200, 421, 421, 421]


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


async def test_all_bodies_together_are_bounded(client, monkeypatch):
    monkeypatch.setattr("surecut.serve.gate._ALL_BODIES", 1_000)
    headers = {"content-type": "application/json"}
    release = asyncio.Event()

    async def slow():
        yield b'{"scores": [], "ids": []'
        yield b" " * 700
        await release.wait()
        yield b"}"

    async with client(limits=Limits(body=1_000)) as service, asyncio.TaskGroup() as group:
        first = group.create_task(service.post(PRUNE, content=slow(), headers=headers))
        await asyncio.sleep(0.1)
        busy = await service.post(PRUNE, content=b" " * 700, headers=headers)
        release.set()
        await asyncio.wait([first])
        again = await service.post(PRUNE, content=b'{"scores": []}' + b" " * 700, headers=headers)
    assert (first.result().status_code, busy.status_code, again.status_code) == (200, 503, 200)
    assert int(busy.headers["retry-after"]) > 0


@pytest.mark.parametrize("length", ["9" * 5_000, str(2**60), "1e9", "-1"])
async def test_a_length_that_is_none_is_no_mistake_of_the_services(client, length):
    headers = {"content-type": "application/json", "content-length": length}
    async with client() as service:
        answer = await service.post(PRUNE, content=b"{", headers=headers)
    assert answer.status_code in (400, 413)


async def test_a_coded_body_is_refused(client):
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    async with client() as service:
        answer = await service.post(PRUNE, content=b'{"scores": []}', headers=headers)
    assert answer.status_code == 415


async def test_what_was_refused_is_let_go(client, make, monkeypatch):
    """Not only when the garbage is collected: by then many large bodies would be there, as numbers and texts."""
    service, held = make(), []

    class Body:
        pass

    def refused(*_):
        body = Body()
        held.append(weakref.ref(body))
        raise Refusal(413, "too large", "too large")

    monkeypatch.setattr(service, "prune", refused)
    gc.disable()
    try:
        async with client(service) as asked:
            for content in (b'{"scores": []}', b'{"scores": []}' + b" " * 300_000):  # on the loop, and beside it
                answer = await asked.post(PRUNE, content=content, headers={"content-type": "application/json"})
                assert answer.status_code == 413
    finally:
        gc.enable()
    assert [each() for each in held] == [None, None]
