"""The server: one process, one loop, a graceful end."""

import asyncio
import signal
from types import FrameType
from typing import Any

from surecut.errors import InputError
from surecut.extras import needed
from surecut.serve.app import make_app
from surecut.serve.logs import log, set_up
from surecut.serve.service import Service

needed("uvicorn", "serve")

import uvicorn  # noqa: E402

_GRACE = 25  # seconds for what was accepted to finish
_DRAIN = 1.0  # seconds between saying that it is not ready any more and taking no new connections
_CONNECTIONS = 1_000  # open at once; more are answered with 503


def run(service: Service, host: str, port: int, log_level: str) -> None:
    """Serve until told to stop; what was accepted by then is finished first."""
    set_up(log_level)
    server = _Server(
        service,
        uvicorn.Config(
            make_app(service),
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE,
            limit_concurrency=_CONNECTIONS,
            ws="none",
        ),
    )
    signal.signal(signal.SIGTERM, _done)
    try:
        server.run()
    except SystemExit:  # how uvicorn says that it could not start; its log says why
        raise InputError(f"cannot listen on {host}:{port}: is the port taken, or the address another's?") from None


def _done(*_: object) -> None:
    """uvicorn passes a signal on once it has stopped; being told to stop is no failure."""


class _Server(uvicorn.Server):
    """Says where it listens, for whoever started it with port 0, and that it will stop, before it does."""

    def __init__(self, service: Service, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._service = service
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        for server in self.servers if self.started else ():
            for listening in server.sockets:
                host, port = listening.getsockname()[:2]
                log("listening", host=host, port=port)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """At the first word, say so to whoever asks for readiness; at the second, or after a moment, stop."""
        if self._service.stopping or self._loop is None or sig == signal.SIGINT:
            super().handle_exit(sig, frame)
            return
        self._service.stopping = True
        self._loop.call_soon_threadsafe(self._loop.call_later, _DRAIN, super().handle_exit, sig, frame)
