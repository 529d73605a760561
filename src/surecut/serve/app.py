"""The application: routes, and what goes on beside them."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

from surecut.errors import InputError
from surecut.extras import needed
from surecut.integrations.stage import of_query
from surecut.monitoring.streams import STREAMS
from surecut.serve import messages as m
from surecut.serve.describing import described, opened
from surecut.serve.gate import Gate
from surecut.serve.logs import log
from surecut.serve.messages import JSON, MSGPACK
from surecut.serve.metrics import CONTENT_TYPE
from surecut.serve.page import monitor_page
from surecut.serve.refusing import Refusal
from surecut.serve.service import Service
from surecut.serve.shelf import Served
from surecut.version import __version__

needed("fastapi", "serve")

from fastapi import FastAPI, Request, Response  # noqa: E402
from starlette.exceptions import HTTPException  # noqa: E402

_LARGE = 256 * 1024  # bytes: what takes long is done beside the loop, so that others are answered meanwhile
_EVERY = 2.0  # seconds between two looks at files and monitors

DESCRIPTION = """How few candidates does your reranker have to see, with a guarantee?

Send a query's candidates with the retriever's scores, and get those that the certificate says to rerank. Bodies are
JSON or MessagePack (`Content-Type: application/msgpack`); answers come in the form that `Accept` names, or in that of
the body."""


def make_app(service: Service) -> FastAPI:
    """The application, ready for a server."""
    app = FastAPI(
        title="surecut",
        version=__version__,
        description=DESCRIPTION,
        lifespan=_alive,
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    app.state.service = service
    app.add_middleware(Gate, service=service)
    app.add_exception_handler(HTTPException, _no_such_thing)
    for method, path, function, description in _ROUTES:
        app.add_api_route(path, function, methods=[method], response_class=Response, **description)
        if method == "GET":  # load balancers ask like this; the server leaves the body out
            app.add_api_route(path, function, methods=["HEAD"], include_in_schema=False)
    opened(app)
    return app


@contextlib.asynccontextmanager
async def _alive(app: FastAPI) -> AsyncIterator[None]:
    """Files and monitors are looked after while requests are served; what was sampled is counted before the end."""
    service: Service = app.state.service
    service.stopping = False
    tending = asyncio.create_task(_tend(service))
    yield
    service.stopping = True
    tending.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await tending
    try:
        await service.tending.run(service.count_sampled)
    except InputError as error:
        log("sampled queries are lost", logging.ERROR, problem=str(error))


async def _tend(service: Service) -> None:
    while True:
        await asyncio.sleep(_EVERY)
        await service.tending.run(lambda: tend(service))


def tend(service: Service) -> None:
    """Reload files that changed, count what was sampled, and see how certificates stand.

    What fails may work the next time; it keeps nothing else from being done, and requests are served meanwhile.
    """
    _attempt(_reload, service)
    _attempt(service.count_sampled)
    for served in service.shelf:
        _attempt(service.refresh, served)


def _attempt(step: Callable[..., Any], *of: Any) -> None:
    try:
        step(*of)
    except Exception as error:
        log("tending failed", logging.ERROR, kind=type(error).__name__, problem=str(error))


def _reload(service: Service) -> None:
    for served in service.shelf.reload():
        outcome = "refused" if served.problem else "reloaded"
        service.metrics.reloads.labels(served.name, outcome).inc()
        level = logging.ERROR if served.problem else logging.INFO
        log(outcome, level, certificate=served.name, digest=served.digest, problem=served.problem)
    service.watcher.forget_others([served.digest for served in service.shelf])


async def health(request: Request) -> Response:
    """The process is there."""
    return _answer(request, m.Health("ok", __version__))


async def ready(request: Request) -> Response:
    """Requests are welcome; 503 once the service is on its way out."""
    if _service(request).stopping:
        raise Refusal(503, "stopping", "the service is stopping")
    return _answer(request, m.Health("ready", __version__))


async def certificates(request: Request) -> Response:
    """All certificates that are served, by name."""
    service = _service(request)
    return _answer(request, m.Certificates([_info(service, served) for served in service.shelf]))


async def certificate(request: Request, name: str) -> Response:
    """One certificate, with all it says."""
    service = _service(request)
    served = service.served(name)
    return _answer(request, m.OneCertificate(_info(service, served), served.certificate.to_dict()))


async def prune(request: Request, name: str) -> Response:
    """One query's candidates in, the survivors out."""
    service, body = _service(request), await request.body()

    def work() -> m.Survivors:
        return service.prune(service.served(name), m.decoded(body, _sent(request), m.Query))

    found = work() if len(body) < _LARGE else await service.pruning.run(work)
    request.scope["surecut"].update(certificate=name, candidates=found.candidates, kept=found.kept)
    return _answer(request, found)


async def prune_batch(request: Request, name: str) -> Response:
    """The candidates of several queries in, the survivors of each out; one that is refused refuses all."""
    service, body = _service(request), await request.body()

    def work() -> m.AllSurvivors:
        served, queries = service.served(name), m.decoded(body, _sent(request), m.Queries).queries
        if len(queries) > service.limits.queries:
            raise Refusal(413, "too large", f"{len(queries):,} queries: at most {service.limits.queries:,} a request")
        return m.AllSurvivors([_named(service.prune, served, each, place) for place, each in enumerate(queries)])

    found = await service.pruning.run(work)
    totals = {"candidates": sum(each.candidates for each in found.results), "kept": sum(e.kept for e in found.results)}
    request.scope["surecut"].update(certificate=name, queries=len(found.results), **totals)
    return _answer(request, found)


async def rank(request: Request, name: str) -> Response:
    """A query and its candidates with texts in, the final list out: pruned, and the survivors reranked here."""
    service, body = _service(request), await request.body()
    found = await service.ranking.run(
        lambda: service.rank(service.served(name), m.decoded(body, _sent(request), m.RankQuery))
    )
    request.scope["surecut"].update(certificate=name, candidates=found.candidates, kept=found.kept)
    return _answer(request, found)


async def feedback(request: Request, name: str) -> Response:
    """Feedback on queries of the traffic; what is answered with 200 is on disk, and an id counts once."""
    service, body = _service(request), await request.body()
    found = await service.counting.run(
        lambda: service.feedback(service.served(name), m.decoded(body, _sent(request), m.FeedbackBatch).records)
    )
    request.scope["surecut"].update(certificate=name, records=found.records, known=found.known)
    return _answer(request, found)


async def monitor(request: Request, name: str) -> Response:
    """Is the certificate still believed? With the evidence over time."""
    service = _service(request)

    def work() -> m.Monitored:
        served = service.served(name)
        watched = service.monitor(served)
        standing = service.refresh(served) or watched.standing()
        return m.Monitored(standing, {stream: watched.history(stream) for stream in STREAMS})

    return _answer(request, await service.reading.run(work))


async def metrics(request: Request) -> Response:
    """Sizes, times, refusals and evidence, for Prometheus."""
    return Response(_service(request).metrics.text(), media_type=CONTENT_TYPE)


async def page(request: Request) -> Response:
    """How the certificates stand, as a page that keeps itself up to date."""
    html, policy = monitor_page()
    return Response(html, media_type="text/html", headers={"content-security-policy": policy})


_OF = "/v1/certificates/{name}"
_ROUTES: tuple[tuple[str, str, Callable[..., Any], dict[str, Any]], ...] = (
    ("GET", "/v1/health", health, described(m.Health)),
    ("GET", "/v1/ready", ready, described(m.Health, errors=(503,))),
    ("GET", "/v1/certificates", certificates, described(m.Certificates)),
    ("GET", _OF, certificate, described(m.OneCertificate, errors=(404,))),
    ("POST", f"{_OF}/prune", prune, described(m.Survivors, m.Query)),
    ("POST", f"{_OF}/prune/batch", prune_batch, described(m.AllSurvivors, m.Queries)),
    ("POST", f"{_OF}/rank", rank, described(m.RankedList, m.RankQuery, errors=(409,))),
    ("POST", f"{_OF}/feedback", feedback, described(m.Counted, m.FeedbackBatch, errors=(409, 503))),
    ("GET", f"{_OF}/monitor", monitor, described(m.Monitored, errors=(404, 409, 503))),
    ("GET", "/metrics", metrics, described(None, media_type="text/plain")),
    ("GET", "/monitor", page, described(None, media_type="text/html")),
)


def _named(prune: Callable[[Served, m.Query], m.Survivors], served: Served, query: m.Query, place: int) -> m.Survivors:
    """One query of several, named where it is refused."""
    with of_query(place if query.id is None else query.id):
        return prune(served, query)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _sent(request: Request) -> str:
    """The form of the body."""
    if (coding := request.headers.get("content-encoding", "identity").lower()) != "identity":
        raise Refusal(415, "malformed", f"bodies come as they are, not as {coding[:100]}")
    form = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if form in ("application/x-msgpack", "application/vnd.msgpack", MSGPACK):
        return MSGPACK
    if form == JSON:
        return JSON
    said = form[:100] or "anything without a Content-Type"  # which any web page may send to anywhere
    raise Refusal(415, "malformed", f"bodies are {JSON} or {MSGPACK}, not {said}")


def _answer(request: Request, message: Any) -> Response:
    """A message in the form that was asked for, else in that of the body."""
    asked = request.headers.get("accept", "*/*").lower()
    wanted = f"{asked} {request.headers.get('content-type', '')}" if asked in ("*/*", "") else asked
    form = MSGPACK if "msgpack" in wanted and JSON not in asked else JSON
    return Response(m.encoded(message, form), media_type=form)


def _info(service: Service, served: Served) -> m.Info:
    certificate = served.certificate
    standing = service.watcher.standing(served)
    return m.Info(
        name=served.name,
        status=certificate.status,
        statement=certificate.statement,
        digest=served.digest,
        depth=certificate.depth,
        mean_kept=certificate.mean_kept,
        tail=certificate.tail,
        fusion=float(certificate.fusion["beta"]),
        loaded=served.loaded,
        belief=None if standing is None else standing.belief,
        falls_back=service.watcher.falls_back(served),
        problem=served.problem_in_words,
    )


async def _no_such_thing(request: Request, error: Exception) -> Response:
    """A path or method that there is not."""
    assert isinstance(error, HTTPException)
    request.scope["surecut"]["reason"] = "unknown"
    problem = m.Problem(f"{request.method} {request.url.path[:200]}: {str(error.detail).lower()}; see /docs")
    return Response(m.encoded(problem, JSON), error.status_code, error.headers, JSON)
