"""What the guide to the service shows is what the service answers."""

import json
import re
from pathlib import Path

import httpx

from tests.running import run

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "serve.md").read_text(encoding="utf-8")


def test_the_first_example_is_answered_as_shown(start, tmp_path):
    """With the certificate that it makes."""
    asked = re.search(r"curl --json '([^']+)' \\\n +http://127\.0\.0\.1:8000(\S+)", GUIDE)
    shown = re.search(r"```json\n(.*?)\n```", GUIDE, re.DOTALL)
    assert asked is not None
    assert shown is not None
    made = re.search(r"^(surecut calibrate .*)$", GUIDE, re.MULTILINE)
    assert made is not None
    assert run(made[1], tmp_path).status == 0
    running = start("cert.json")
    answer = httpx.post(running.url + asked[2], json=json.loads(asked[1]))
    expected = json.loads(shown[1])
    assert len(answer.json()["certificate"]) == len(expected.pop("certificate"))
    assert {name: answer.json()[name] for name in expected} == expected


def test_every_route_of_the_guide_is_there(start, certificates, tmp_path):
    certificates["main"].save(tmp_path / "cert.json")
    running = start("cert.json", "--monitor", "monitor.db")
    for path in re.findall(r"`GET ([^`]+)`", GUIDE):
        for each in path.split("`, `"):
            url = running.url + each.replace("{name}", "cert")
            assert httpx.get(url, follow_redirects=True).status_code == 200, each
