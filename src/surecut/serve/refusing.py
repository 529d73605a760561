"""Requests that are not answered."""


class Refusal(Exception):
    """The status, a word for the metrics, and a sentence for whoever sent it."""

    def __init__(self, status: int, reason: str, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.reason, self.headers = status, reason, headers or {}
