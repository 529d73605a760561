"""Logs as lines of JSON on standard error: what was asked and how it ended, never a text, an id or a score."""

import logging
import sys
import time
import traceback
from typing import Any

from surecut.extras import needed

needed("msgspec", "serve")

import msgspec  # noqa: E402

LOG = logging.getLogger("surecut.serve")


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0]:  # its words may repeat what was sent
            line["kind"] = record.exc_info[0].__name__
            line["stack"] = "".join(traceback.format_tb(record.exc_info[2]))
        return msgspec.json.encode(line).decode()


def set_up(level: str) -> None:
    """Send surecut's and the server's logs to standard error, one line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name in ("surecut.serve", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], False
        logger.setLevel(level.upper())
        logger.addHandler(handler)
    logging.getLogger("uvicorn.error").handlers = []
    logging.getLogger("uvicorn.error").propagate = True  # to uvicorn


def log(event: str, level: int = logging.INFO, **fields: Any) -> None:
    LOG.log(level, event, extra={"fields": fields})
