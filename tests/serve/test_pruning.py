"""Pruning over HTTP: one query or many, JSON or MessagePack, and what is refused."""

import base64

import msgspec
import numpy as np
import pytest

from tests.serve.conftest import DEPTH, PRUNE, scores_of

pytestmark = pytest.mark.anyio


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


async def test_ids_that_come_twice_take_no_time_to_find(client, make):
    ids = [str(place) for place in range(9_999)]
    async with client(make()) as asked:
        answer = await asked.post(PRUNE, json={"scores": list(range(10_000, 0, -1)), "ids": [*ids, ids[-1]]})
    assert "'9998' is twice" in answer.json()["error"]
