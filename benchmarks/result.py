"""One line of the table: what was measured, what it is compared with, and the limit on their ratio."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Result:
    """A measurement beside its reference, in the same unit: seconds, bytes or kernels.

    `slower` limits how many times the reference surecut may take; `faster` says how many times quicker than
    the reference it must be; `informative` sets no limit.
    """

    what: str
    measured: float
    against: str
    reference: float
    kind: Literal["slower", "faster", "informative"]
    limit: float = 0.0
    unit: Literal["s", "B", "kernels"] = "s"

    @property
    def ratio(self) -> float:
        return self.reference / self.measured if self.kind == "faster" else self.measured / self.reference

    @property
    def ok(self) -> bool:
        if self.kind == "informative":
            return True
        return self.ratio >= self.limit if self.kind == "faster" else self.ratio <= self.limit

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "ratio": self.ratio, "ok": self.ok}

    def cells(self) -> tuple[str, ...]:
        """The columns of the printed table."""
        verdict = "" if self.kind == "informative" else "ok" if self.ok else "over"
        limit = {"slower": f"at most {self.limit:,g}", "faster": f"at least {self.limit:,g} faster"}.get(self.kind, "")
        ratio = f"{self.ratio:,.0f}" if self.ratio >= 100 else f"{self.ratio:.2f}"
        return (
            self.what,
            amount(self.measured, self.unit),
            self.against,
            amount(self.reference, self.unit),
            f"{ratio} faster" if self.kind == "faster" else ratio,
            limit,
            verdict,
        )


def amount(value: float, unit: str) -> str:
    """A duration, a size or a count, in a unit that fits it."""
    if unit == "B":
        return f"{value / 1e9:.2f} GB"
    if unit == "kernels":
        return f"{value:.0f} kernels"
    for factor, name in ((1.0, "s"), (1e-3, "ms")):
        if value >= factor:
            return f"{value / factor:,.4g} {name}"
    return f"{value / 1e-6:.3g} µs"
