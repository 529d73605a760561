"""What every request passes: key, rate and size, a line in the log, the metrics. Plain ASGI: it costs little."""

import asyncio
import logging
import math
import secrets
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from surecut.errors import InputError
from surecut.extras import needed
from surecut.monitoring.store import StoreUnavailable
from surecut.serve.logs import log
from surecut.serve.messages import JSON, Malformed, Problem, encoded
from surecut.serve.refusing import Refusal
from surecut.serve.service import Service

needed("fastapi", "serve")

from starlette.requests import ClientDisconnect  # noqa: E402

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = ("/v1/health", "/v1/ready", "/openapi.json", "/docs", "/swagger", "/monitor")
"""What needs no key, and may be asked for at any rate: no data is behind it, or below it."""

_SLOWEST_BODY = 20.0  # seconds
_ALL_BODIES = 256 * 2**20  # bytes
_LONGEST_NUMBER = 18  # digits
_GONE = 499  # who asked went away before the body was complete


class Gate:
    """Lets a request through to the application, or refuses it in one sentence."""

    def __init__(self, app: App, service: Service) -> None:
        self._app, self._service, self._bodies = app, service, _Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, answer = time.perf_counter(), _Answer(send, secrets.token_hex(8))
        scope["surecut"], body = {}, _Bounded(receive, self._service.limits.body, self._bodies)
        try:
            self._admit(scope)
            await self._app(scope, body, answer)
        except (Refusal, InputError, Malformed) as error:
            refusal = as_refusal(error).with_traceback(None)  # which would hold on to the body, and all that it became
            await answer.refuse(refusal.status, str(refusal), refusal.headers)
            scope["surecut"]["reason"] = refusal.reason
        except ClientDisconnect:
            answer.status, scope["surecut"]["reason"] = _GONE, "gone"
        except Exception as error:  # a fault of the service's own: said so, and never the text of the exception
            stack = "".join(traceback.format_tb(error.__traceback__))
            log("fault", logging.ERROR, request=answer.request, kind=type(error).__name__, stack=stack)
            await answer.refuse(500, "the service made a mistake; it is in its log", {})
        finally:
            body.let_go()
        self._note(scope, answer, time.perf_counter() - started)

    def _admit(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        self._refuse_other_hosts(headers)
        if scope["path"] == "/" or scope["path"].startswith(OPEN):
            return
        key = _key(headers)
        address = (scope.get("client") or ("", 0))[0]
        if self._service.keys and not self._service.keys.opens(key):
            self._refuse_haste(f"{address} without a key")
            cure = "send it as 'X-API-Key: ...' or 'Authorization: Bearer ...'"
            raise Refusal(401, "no key", f"this needs a key: {cure}", {"www-authenticate": "Bearer"})
        self._refuse_haste(key if self._service.keys else address)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and (len(length) > _LONGEST_NUMBER or int(length) > self._service.limits.body):
            raise too_large(self._service.limits.body)

    def _refuse_haste(self, client: str) -> None:
        if wait := self._service.rate.wait(client):
            later = {"retry-after": str(math.ceil(wait))}
            raise Refusal(429, "too fast", f"too many requests: try again in {wait:.1f} s", later)

    def _refuse_other_hosts(self, headers: dict[bytes, bytes]) -> None:
        """A page of another site may make a browser ask here under that site's name."""
        host = headers.get(b"host", b"").decode("latin-1").rpartition("@")[2].lower()
        name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
        if self._service.hosts is not None and name not in self._service.hosts:
            cure = "use that address, or give the service keys (--api-key-file)"
            raise Refusal(421, "host", f"without keys this answers to the address it listens on only: {cure}")

    def _note(self, scope: Scope, answer: "_Answer", seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        known: dict[str, Any] = dict(scope["surecut"])
        metrics = self._service.metrics
        metrics.seconds.labels(route).observe(seconds)
        metrics.responses.labels(route, answer.status).inc()
        if answer.status >= 400:
            metrics.refusals.labels(known.get("reason", "other")).inc()
        log(
            "request",
            request=answer.request,
            method=scope["method"],
            route=route,
            status=answer.status,
            ms=round(1000 * seconds, 3),
            **known,
        )


def as_refusal(error: Exception) -> Refusal:
    """What a request was refused for, as an answer."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, StoreUnavailable):
        log("store unavailable", logging.ERROR, problem=str(error))
        return Refusal(
            503, "store", "the monitor's database does not answer: send it again later", {"retry-after": "5"}
        )
    if isinstance(error, Malformed):
        return Refusal(400, "malformed", f"the body is not what is expected: {error}")
    return Refusal(422, "refused", " ".join(str(error).split()))


def too_large(limit: int) -> Refusal:
    return Refusal(413, "too large", f"the body is larger than {limit:,} bytes", {"connection": "close"})


def _key(headers: dict[bytes, bytes]) -> str:
    given = headers.get(b"x-api-key")
    if given is None:
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        given = given if scheme.lower() == b"bearer" else b""
    return given.strip().decode("utf-8", "surrogateescape")


@dataclass
class _Bodies:
    """How many bytes all bodies that are not done with hold."""

    held: int = 0


class _Bounded:
    """The body of a request, up to a size, and not forever; all of them together up to a size as well."""

    def __init__(self, receive: Receive, limit: int, all_bodies: _Bodies) -> None:
        self._receive, self._limit, self._all, self._read = receive, limit, all_bodies, 0
        self._latest = asyncio.get_running_loop().time() + _SLOWEST_BODY

    async def __call__(self) -> Message:
        try:
            async with asyncio.timeout_at(self._latest):
                message = await self._receive()
        except TimeoutError:
            raise Refusal(408, "too slow", "the body did not arrive in time", {"connection": "close"}) from None
        size = len(message.get("body", b""))
        self._read, self._all.held = self._read + size, self._all.held + size
        if self._read > self._limit:
            raise too_large(self._limit)
        if self._all.held > max(_ALL_BODIES, self._limit):
            later = {"connection": "close", "retry-after": "1"}
            raise Refusal(503, "busy", "too many large requests at once: try again later", later)
        return message

    def let_go(self) -> None:
        self._all.held -= self._read


class _Answer:
    """What goes back, with a name by which the log can be searched."""

    def __init__(self, send: Send, request: str) -> None:
        self._send, self.request, self.status = send, request, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", []), (b"x-request-id", self.request.encode())]
        await self._send(message)

    async def refuse(self, status: int, sentence: str, headers: dict[str, str]) -> None:
        if self.status:  # too late: it has begun to answer
            return
        body = encoded(Problem(sentence), JSON)
        given = {"content-type": JSON, "content-length": str(len(body)), **headers}
        lines = [(name.encode(), value.encode()) for name, value in given.items()]
        await self({"type": "http.response.start", "status": status, "headers": lines})
        await self._send({"type": "http.response.body", "body": body})
