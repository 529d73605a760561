"""How OpenAPI describes the routes: the messages are msgspec's, so their schemas are put in by hand."""

from typing import Any

from surecut.extras import needed
from surecut.serve import messages as m

needed("fastapi", "serve")

from fastapi import FastAPI, Response  # noqa: E402
from fastapi.openapi.docs import get_swagger_ui_html  # noqa: E402
from fastapi.openapi.utils import get_openapi  # noqa: E402
from fastapi_swagger import patch_fastapi  # noqa: E402
from starlette.responses import RedirectResponse  # noqa: E402

_MEANING = {
    400: "The body is malformed.",
    401: "A key is needed.",
    404: "No such certificate.",
    408: "The body did not arrive in time.",
    409: "The service was started without what this needs.",
    413: "Too large.",
    415: "A media type that is not known.",
    421: "The service does not answer to this name.",
    422: "The certificate refuses this list.",
    429: "Too many requests.",
    503: "Not now: the service is busy or stopping, or its database does not answer; try again.",
}
_ALWAYS, _WITH_BODY = (401, 421, 429), (400, 404, 408, 413, 415, 422, 503)


def described(
    answer: type[Any] | None,
    body: type[Any] | None = None,
    errors: tuple[int, ...] = (),
    media_type: str | None = None,
) -> dict[str, Any]:
    """What FastAPI is told of a route: what it takes, what it answers, how it refuses."""
    content = {media_type: {"schema": {"type": "string"}}} if answer is None else _content(answer, *m.MEDIA_TYPES)
    statuses = sorted({*_ALWAYS, *errors, *(_WITH_BODY if body is not None else ())})
    responses: dict[int | str, dict[str, Any]] = {200: {"description": "Done.", "content": content}}
    for status in statuses:
        responses[status] = {"description": _MEANING[status], "content": _content(m.Problem, m.JSON)}
    if body is None:
        return {"responses": responses}
    return {
        "responses": responses,
        "openapi_extra": {"requestBody": {"required": True, "content": _content(body, *m.MEDIA_TYPES)}},
    }


def opened(app: FastAPI) -> None:
    """Give the application its OpenAPI document, and a page of it that loads nothing from elsewhere."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            components = found.setdefault("components", {})
            components["schemas"] = m.schemas(*_MESSAGES)
            components["securitySchemes"] = {
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "bearer": {"type": "http", "scheme": "bearer"},
            }
            found["security"] = [{}, {"key": []}, {"bearer": []}]
            for path in found["paths"].values():
                for operation in path.values():
                    if operation["responses"].get("422", {}).get("description") == "Validation Error":
                        del operation["responses"]["422"]
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]
    app.add_api_route("/", _to_page, include_in_schema=False)
    app.add_api_route("/docs", _page, include_in_schema=False)
    patch_fastapi(app, docs_url="/swagger", redirect_from_root_to_docs=False)  # for the files of the page


async def _to_page() -> Response:
    return RedirectResponse("docs")


async def _page() -> Response:
    """Addresses are relative, so that they hold behind a proxy."""
    return get_swagger_ui_html(
        openapi_url="openapi.json",
        title="surecut",
        swagger_js_url="swagger/swagger-ui-bundle.js",
        swagger_css_url="swagger/swagger-ui.css",
        swagger_favicon_url="swagger/favicon-32x32.png",
        swagger_ui_parameters={"tryItOutEnabled": True, "persistAuthorization": True},
    )


_MESSAGES = (
    m.Health,
    m.Certificates,
    m.OneCertificate,
    m.Query,
    m.Queries,
    m.Survivors,
    m.AllSurvivors,
    m.RankQuery,
    m.RankedList,
    m.FeedbackBatch,
    m.Counted,
    m.Monitored,
    m.Problem,
)


def _content(kind: type[Any], *media_types: str) -> dict[str, Any]:
    return {each: {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}} for each in media_types}
