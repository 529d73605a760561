"""The live page: how the certificates stand, in one HTML file that asks the service and nobody else."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files


@cache
def monitor_page() -> tuple[str, str]:
    """The page, and the content security policy under which it runs."""
    style = _file("report", "page.css") + _file("serve", "monitor.css")  # the same look as the report
    script = _file("serve", "monitor.js")
    html = _file("serve", "monitor.html").replace("/* style */", style).replace("/* script */", script)
    allowed = {
        "default-src": "'none'",
        "connect-src": "'self'",
        "img-src": "data:",
        "style-src": _digest(style),
        "script-src": _digest(script),
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return html, "; ".join(f"{what} {whence}" for what, whence in allowed.items())


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _file(package: str, name: str) -> str:
    return files(f"surecut.{package}").joinpath("template", name).read_text(encoding="utf-8")
