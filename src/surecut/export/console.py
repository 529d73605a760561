"""Requests as the consoles of these engines take them: a comment, a line with the method, a JSON body."""

import json
from typing import Any


def request(line: str, body: dict[str, Any]) -> str:
    return f"{line}\n{json.dumps(body, indent=2)}\n"
