"""Work beside the loop. Each kind has threads of its own, so that what waits for a database keeps no other waiting."""

from collections.abc import Callable
from typing import TypeVar

from surecut.extras import needed
from surecut.serve.refusing import Refusal

needed("fastapi", "serve")

import anyio  # noqa: E402
import anyio.to_thread  # noqa: E402

Result = TypeVar("Result")


class Beside:
    """A few threads, and a bounded queue before them."""

    def __init__(self, what: str, threads: int, waiting: int = 200) -> None:
        self._what, self._most, self._present = what, threads + waiting, 0
        self._limiter = anyio.CapacityLimiter(threads)

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do it as soon as a thread is free; refuse if too many wait for one."""
        if self._present >= self._most:
            sentence = f"too many requests wait for {self._what}: try again later"
            raise Refusal(503, "busy", sentence, {"retry-after": "1"})
        self._present += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._present -= 1
