"""What a team would write without surecut: a FastAPI endpoint with the same model, that returns the first ids.

And below it, what the server can do at best: an application that reads the body and answers with a constant.
"""

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Query(BaseModel):
    scores: list[float]
    ids: list[str] | None = None
    id: str | None = None


class Survivors(BaseModel):
    survivors: list[str]
    kept: int
    candidates: int


def plain(kept: int) -> FastAPI:
    app = FastAPI()

    @app.post("/prune")
    async def prune(query: Query) -> Survivors:
        assert query.ids is not None
        return Survivors(survivors=query.ids[:kept], kept=kept, candidates=len(query.scores))

    return app


async def bare(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


if __name__ == "__main__":
    kind, port, kept = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    served: Any = plain(kept) if kind == "plain" else bare
    lifespan: Any = "auto" if kind == "plain" else "off"
    uvicorn.run(served, port=port, access_log=False, log_level="warning", lifespan=lifespan)
