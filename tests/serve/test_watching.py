"""The service watches its certificates: feedback, sampled traffic, and falling back."""

import asyncio
import sqlite3

import msgspec
import pytest

import surecut as sc
from surecut.monitoring.feedback import as_feedback
from surecut.serve.app import tend
from surecut.serve.beside import Beside
from tests.serve.conftest import DEPTH, PRUNE, scores_of

pytestmark = pytest.mark.anyio
FEEDBACK = "/v1/certificates/main/feedback"
MONITOR = "/v1/certificates/main/monitor"


async def test_feedback_is_counted_and_seen(client, system):
    records = [msgspec.to_builtins(each) for each in list(as_feedback(system))[:50]]
    async with client() as service:
        first = (await service.post(FEEDBACK, json={"records": records})).json()
        again = (await service.post(FEEDBACK, json={"records": records})).json()
        monitored = (await service.get(MONITOR)).json()
    assert first == {"records": 50, "counted": {"claim": 50, "agreement": 50, "drift": 50}, "known": 0, "others": 0}
    assert again["known"] == 50
    assert monitored["standing"]["belief"] == "believed"
    assert monitored["history"]["claim"][-1]["count"] == 50


async def test_feedback_is_counted_whole_or_not_at_all(client):
    fine = [{"id": f"fine{number}", "measured": 1, "full": 1} for number in range(900)]
    records = [*fine, {"id": "odd", "ids": ["a", "a"], "retriever": [2, 1]}]
    async with client() as service:
        answer = await service.post(FEEDBACK, json={"records": records})
        monitored = (await service.get(MONITOR)).json()
    assert answer.status_code == 422
    assert monitored["standing"]["claim"]["count"] == 0


async def test_without_a_monitor_there_is_no_feedback(client):
    async with client(monitored=False) as service:
        answers = [
            await service.post(FEEDBACK, json={"records": []}),
            await service.get(MONITOR),
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
            await service.post(FEEDBACK, json={"records": bad})
            answer = (await service.post(PRUNE, json={"scores": scores})).json()
            longer = await service.post(PRUNE, json={"scores": [*scores, scores[-1] - 1]})
            listed = (await service.get("/v1/certificates")).json()["certificates"][0]
        assert answer["fallback"] is falls_back
        assert (answer["kept"] == DEPTH) is falls_back
        assert answer["survivors"] == list(range(answer["kept"]))
        assert (longer.status_code == 200) is falls_back  # nothing is claimed, so nothing is refused
        assert (listed["belief"], listed["falls_back"]) == ("not believed", falls_back)


async def test_sampled_traffic_is_watched(client, make, system):
    service = make(observed=1.0)
    async with client(service) as asked:
        for query in range(30):
            await asked.post(PRUNE, json={"scores": scores_of(system, query), "id": f"q{query}"})
        await asked.post(PRUNE, json={"scores": scores_of(system, 0), "id": "q0"})  # asked again
        await asked.post(PRUNE, json={"scores": scores_of(system, 0)})  # might have been asked before
        tend(service)
        found = (await asked.get(MONITOR)).json()["standing"]["drift"]
    assert found["count"] == 30


async def test_a_share_of_the_queries_is_sampled_the_same_ones_everywhere(client, make, system):
    found = []
    for _ in range(2):
        service = make(observed=0.3)
        async with client(service) as asked:
            for query in range(100):
                await asked.post(PRUNE, json={"scores": scores_of(system, query), "id": f"q{query}"})
            tend(service)
            found.append((await asked.get(MONITOR)).json()["standing"]["drift"]["count"])
    assert 10 < found[0] == found[1] < 60


async def test_scores_that_were_allowed_are_watched_too(client, paths, tmp_path, system):
    from surecut.certificate import load_certificate
    from surecut.monitoring.store import Store
    from surecut.serve.service import Service
    from surecut.serve.shelf import Shelf

    shelf = Shelf(paths, load_certificate, any_length=True, any_system=True)
    service = Service(shelf, store=Store(tmp_path / "monitor.db"), observed=1.0)
    async with client(service) as asked:
        for query in range(20):
            scores = [1000 + score for score in scores_of(system, query)][:30]
            await asked.post(PRUNE, json={"scores": scores, "id": f"q{query}"})
        tend(service)
        found = (await asked.get(MONITOR)).json()["standing"]["drift"]
    assert found["count"] == 20


async def test_a_store_that_does_not_answer_is_503_and_loses_nothing(client, make, system, tmp_path, caplog):
    service = make(observed=1.0, fall_back=True, patience=0.2)
    with sqlite3.connect(tmp_path / "monitor.db") as other:
        async with client(service) as asked:
            other.execute("BEGIN IMMEDIATE")
            record = {"id": "a", "measured": 1, "full": 1}
            refused = await asked.post(FEEDBACK, json={"records": [record]})
            pruned = await asked.post(PRUNE, json={"scores": scores_of(system), "id": "q1"})
            await asked.post("/v1/certificates/top/prune", json={"scores": scores_of(system), "id": "q1"})
            tend(service)
            other.rollback()
            tend(service)
            found = (await asked.get(MONITOR)).json()["standing"]
            other_found = (await asked.get("/v1/certificates/top/monitor")).json()["standing"]
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) > 0
    assert str(tmp_path) not in refused.text
    assert pruned.status_code == 200
    assert "tending failed" in caplog.messages
    assert found["drift"]["count"] == other_found["drift"]["count"] == 1


async def test_disbelief_outlives_a_restart_and_a_reload_but_not_another_certificate(
    client, make, system, paths, certificates
):
    from surecut.monitoring.monitor import Monitor

    service = make(fall_back=True)
    bad = [{"id": f"q{number}", "measured": 0, "full": 1} for number in range(300)]

    async def falls_back(asked) -> bool:
        return (await asked.post(PRUNE, json={"scores": scores_of(system)})).json()["fallback"]

    async with client(service) as asked:
        await asked.post(FEEDBACK, json={"records": bad})
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
        found = (await asked.post(FEEDBACK, json={"records": [record]})).json()
    assert (found["counted"]["claim"], found["others"]) == (0, 1)


async def test_halves_that_do_not_fit_are_no_mistake_of_the_services(client):
    async with client() as asked:
        answers = [
            await asked.post(FEEDBACK, json={"records": [record]})
            for record in (
                {"id": "m", "reranker": [1, 2, 3]},
                {"id": "m", "ids": ["a", "b"], "retriever": [2, 1]},
                {"id": "n", "ids": ["a"], "retriever": [1]},
                {"id": "m", "measured": 1, "full": 1},
            )
        ]
    assert [answer.status_code for answer in answers] == [422, 422, 422, 200]


async def test_feedback_that_waits_keeps_nobody_else_waiting(client, make, system, tmp_path):
    service = make(patience=2.0)
    records = [{"id": "a", "measured": 1, "full": 1}]
    with sqlite3.connect(tmp_path / "monitor.db") as other:
        other.execute("BEGIN IMMEDIATE")
        async with client(service) as asked, asyncio.TaskGroup() as group:
            waiting = [group.create_task(asked.post(FEEDBACK, json={"records": records})) for _ in range(60)]
            await asyncio.sleep(0.2)
            pruned = await asked.post(f"{PRUNE}/batch", json={"queries": [{"scores": scores_of(system)}]})
            seen = await asked.get(MONITOR)
            were_waiting = [not task.done() for task in waiting]
            other.rollback()
    assert (pruned.status_code, seen.status_code) == (200, 200)
    assert all(were_waiting)
    assert {task.result().status_code for task in waiting} == {200}


async def test_too_long_a_queue_is_busy(client, make, tmp_path):
    service = make(patience=2.0)
    service.counting = Beside("the monitor", 1, waiting=2)
    with sqlite3.connect(tmp_path / "monitor.db") as other:
        other.execute("BEGIN IMMEDIATE")
        async with client(service) as asked, asyncio.TaskGroup() as group:
            sent = [group.create_task(asked.post(FEEDBACK, json={"records": []})) for _ in range(6)]
            await asyncio.sleep(0.3)
            other.rollback()
    answers = [task.result() for task in sent]
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 503, 503, 503]
    assert all(int(answer.headers["retry-after"]) > 0 for answer in answers if answer.status_code == 503)


async def test_what_nobody_has_known_for_long_falls_back(client, make, system, tmp_path, monkeypatch):
    service = make(fall_back=True)
    async with client(service) as asked:
        await asked.post(FEEDBACK, json={"records": [{"id": "a", "measured": 1, "full": 1}]})
        before = (await asked.post(PRUNE, json={"scores": scores_of(system)})).json()
        (tmp_path / "monitor.db").unlink()
        tend(service)
        soon = (await asked.post(PRUNE, json={"scores": scores_of(system)})).json()
        monkeypatch.setattr("surecut.serve.watching.LONG_AGO", 0.0)
        tend(service)
        late = (await asked.post(PRUNE, json={"scores": scores_of(system)})).json()
        listed = (await asked.get("/v1/certificates")).json()["certificates"][0]
        shown, metrics = await asked.get(MONITOR), (await asked.get("/metrics")).text
    assert (before["fallback"], soon["fallback"], late["fallback"]) == (False, False, True)
    assert (listed["belief"], listed["falls_back"]) == (None, True)
    assert shown.status_code == 503
    assert 'surecut_believed{certificate="main"}' not in metrics
