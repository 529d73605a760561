"""The service as a process of its own, on loopback: started, asked, changed under its feet, and stopped."""

import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from surecut.certificate import load_certificate
from surecut.keyfiles import write_new_key
from surecut.signing import sign
from tests.serve.conftest import DEPTH, PRUNE, scores_of


def test_it_serves_reloads_and_stops(start, paths, certificates, system):
    running = start(paths["main"], f"other={paths['top']}")
    scores = scores_of(system)
    with httpx.Client(base_url=running.url) as asked:
        assert asked.get("/v1/health").json()["status"] == "ok"
        before = asked.post(PRUNE, json={"scores": scores}).json()
        certificates["top"].save(paths["main"])
        assert running.wait_for("reloaded")["certificate"] == "main"
        after = asked.post(PRUNE, json={"scores": scores}).json()
        paths["main"].write_text("{")
        assert "truncated" in running.wait_for("refused")["problem"]
        still = asked.post(PRUNE, json={"scores": scores}).json()
        listed = asked.get("/v1/certificates").json()["certificates"]
    assert before["kept"] == certificates["main"].keep(scores)
    assert after == still
    assert after["kept"] == certificates["top"].keep(scores)
    assert "truncated" in listed[0]["problem"]
    assert running.stop() == 0


def test_where_keys_are_trusted_others_are_refused_at_the_start_and_on_reload(start, paths, tmp_path, monkeypatch):
    private, public = tmp_path / "key.pem", tmp_path / "key.pub.pem"
    write_new_key(private)
    monkeypatch.setenv("SURECUT_TRUSTED_KEYS", str(public))
    assert "not signed" in refusal_of(start(paths["main"], wait=False))
    unsigned = paths["main"].read_text()
    sign(load_certificate(paths["main"], trusted=False), private).save(paths["main"])
    running = start(paths["main"])
    paths["main"].write_text(unsigned)
    assert "not signed" in running.wait_for("refused")["problem"]
    assert running.stop() == 0


def test_it_says_that_it_is_stopping_before_it_does(start, paths):
    running = start(paths["main"])
    with httpx.Client(base_url=running.url) as asked:
        assert asked.get("/v1/ready").status_code == 200
        running.process.terminate()
        codes = (asked.get("/v1/ready").status_code for _ in range(1_000))
        assert next(code for code in codes if code != 200) == 503
    assert running.process.wait(60) == 0


def test_two_words_are_enough(start, paths):
    running = start(paths["main"])
    running.process.terminate()
    running.process.terminate()
    assert running.process.wait(60) == 0


def test_a_page_of_another_site_is_not_answered_without_a_key(start, paths):
    running = start(paths["main"])
    assert httpx.get(f"{running.url}/v1/certificates", headers={"host": "rebound.example"}).status_code == 421
    assert httpx.get(f"{running.url.replace('127.0.0.1', 'localhost')}/v1/certificates").status_code == 200


def test_it_listens_on_loopback_only(start, paths):
    running = start(paths["main"])
    said = next(line for line in running.said if line["event"] == "listening")
    assert said["host"] == "127.0.0.1"


def test_what_was_accepted_is_finished(start, paths, system):
    """A request whose body is still on its way when the service is told to stop gets its answer."""
    running = start(paths["main"])
    body = json.dumps({"scores": scores_of(system)}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    connection.putrequest("POST", PRUNE)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body[:10])
    with httpx.Client(base_url=running.url) as asked:  # answered later than the head of the other one was read
        assert asked.get("/v1/health").status_code == 200
    running.process.terminate()
    running.wait_for("Shutting down")
    assert refuses_others(running.port)
    connection.send(body[10:])
    answer = connection.getresponse()
    assert answer.status == 200
    assert json.loads(answer.read())["candidates"] == DEPTH
    connection.close()
    assert running.process.wait(60) == 0


def refuses_others(port: int) -> bool:
    """Within a few seconds, new connections are not taken any more."""
    for _ in range(50):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionError:
            return True
        time.sleep(0.1)
    return False


def test_what_was_sampled_is_counted_before_the_end(start, paths, system, tmp_path):
    store = tmp_path / "watched.db"
    running = start(paths["main"], "--monitor", store, "--observe", "1")
    with httpx.Client(base_url=running.url) as asked:
        for query in range(25):
            asked.post(PRUNE, json={"scores": scores_of(system, query), "id": f"q{query}"})
    assert running.stop() == 0
    from surecut.monitoring.monitor import Monitor

    assert Monitor(str(paths["main"]), store).standing().drift.count == 25


def test_a_client_that_goes_away_is_no_fault(start, paths):
    running = start(paths["main"])
    with socket.create_connection(("127.0.0.1", running.port)) as leaving:
        head = (
            f"POST {PRUNE} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        )
        leaving.sendall(head.encode() + b'{"scores"')
        time.sleep(0.3)
    assert running.wait_for("request")["status"] == 499
    assert all(line["event"] != "fault" for line in running.said)


def test_many_clients_at_once_get_their_own_answers(start, paths, system, certificates):
    running = start(paths["main"])
    lists = [scores_of(system, query) for query in range(100)]
    with httpx.Client(base_url=running.url) as asked, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda scores: asked.post(PRUNE, json={"scores": scores}).json()["kept"], lists * 3))
    assert found == [certificates["main"].keep(scores) for scores in lists] * 3


def test_feedback_that_was_acknowledged_survives_a_kill(start, paths, tmp_path):
    store = tmp_path / "watched.db"
    running, sent = start(paths["main"], "--monitor", store), 0
    with httpx.Client(base_url=running.url) as asked:
        for number in range(20):
            record = {"id": f"q{number}", "measured": 0.5, "full": 0.5}
            asked.post("/v1/certificates/main/feedback", json={"records": [record]}).raise_for_status()
            sent += 1
        running.process.kill()
        running.process.wait()
    again = start(paths["main"], "--monitor", store)
    with httpx.Client(base_url=again.url) as asked:
        found = asked.get("/v1/certificates/main/monitor").json()["standing"]["claim"]["count"]
    assert found == sent


def test_logs_are_lines_of_json_without_what_was_sent(start, paths, system, tmp_path):
    keys = tmp_path / "keys.txt"
    keys.write_text("a-very-secret-key-indeed\n")
    running = start(paths["main"], "--api-key-file", keys, "--monitor", tmp_path / "watched.db")
    headers, secret = {"x-api-key": "a-very-secret-key-indeed"}, "kitchen-secret"
    with httpx.Client(base_url=running.url, headers=headers) as asked:
        ids = [f"{secret}-{place}" for place in range(DEPTH)]
        asked.post(PRUNE, json={"scores": scores_of(system), "ids": ids, "id": secret}).raise_for_status()
        asked.post(PRUNE, json={"scores": [1], "ids": [secret]})
        asked.post(PRUNE, content=secret.encode(), headers={"content-type": "application/json"})
        asked.get(f"/{secret}?query={secret}")
        asked.post(
            "/v1/certificates/main/feedback",
            json={"records": [{"id": secret, "ids": [secret] * 2, "retriever": [2, 1]}]},
        )
        asked.get("/v1/health", headers={"x-api-key": secret})
    assert running.stop() == 0
    running.reader.join(60)
    while not running.lines.empty():
        running.said.append(running.lines.get())
    requests = [line for line in running.said if line["event"] == "request"]
    assert [line["status"] for line in requests] == [200, 422, 400, 404, 422, 200]
    assert requests[0]["kept"] <= requests[0]["candidates"] == DEPTH
    assert all({"time", "level", "request", "route", "ms"} <= set(line) for line in requests)
    text = json.dumps(running.said)
    assert secret not in text
    assert "a-very-secret-key-indeed" not in text


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nowhere.json"], "nowhere.json"),
        (["main.json", "--fall-back"], "--fall-back needs"),
        (["main.json", "--log-level", "loud"], "unknown log level 'loud'"),
        (["main.json", "--api-key-file", "nowhere.txt"], "nowhere.txt"),
        (["main.json", "--monitor", "mysql://x/y"], "SQLite or PostgreSQL"),
        (["main.json", "--reranker", "nowhere"], "nowhere"),
        (["main.json", "main.json"], "two certificates are named 'main'"),
    ],
)
def test_what_cannot_be_served_is_one_sentence_and_status_2(start, paths, words, complaint):
    assert complaint in refusal_of(start(*words, wait=False))


def test_a_port_that_is_taken_is_said(start, paths):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        running = start(paths["main"], wait=False, port=taken.getsockname()[1])
        assert "cannot listen on 127.0.0.1" in refusal_of(running)


def refusal_of(running):
    """The one sentence of a service that did not start."""
    assert running.process.wait(60) == 2
    running.reader.join(60)
    said = []
    while not running.lines.empty():
        said.append(running.lines.get())
    texts = [line["text"] for line in said if line["event"] == "text" and line["text"].startswith("surecut: ")]
    assert len(texts) == 1
    assert "Traceback" not in json.dumps(said)
    return texts[0]
