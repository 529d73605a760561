"""Everything a report shows, as plain numbers: one record, made once, whatever it is written as."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from surecut.candidates import Candidates
from surecut.certificate import Certificate, threshold_to_json
from surecut.checking import Check, check
from surecut.measures import OwnFunction
from surecut.rederiving import rederive
from surecut.report.datasheet import Datasheet, datasheet
from surecut.report.explorer import Explorer, explore
from surecut.report.per_query import Changes, Sizes, count_changes, count_sizes, kept_sizes
from surecut.report.quantities import Quantity, quantity_of
from surecut.report.tradeoff import Tradeoff, trade_off
from surecut.watching import SILENT, Watch


@dataclass(frozen=True)
class Report:
    """A certificate, and what its data say about it."""

    certificate: Certificate
    quantity: Quantity
    data: Datasheet
    sizes: Sizes
    changes: Changes
    tradeoff: Tradeoff
    explorer: Explorer | None  # None where the cut was fixed in advance: there is nothing to search
    check: Check | None = None
    seen: int = 0  # of the queries it was checked on, how many made the certificate
    ms_per_pair: float | None = None
    command: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, thresholds as certificates write them."""
        plain: dict[str, Any] = _plain(asdict(self))
        return {**plain, "certificate": {**self.certificate.to_dict(), "digest": self.certificate.digest}}


def gather(
    certificate: Certificate,
    data: Candidates,
    *,
    held_out: Candidates | None = None,
    ms_per_pair: float | None = None,
    command: str | None = None,
    watch: Watch = SILENT,
    loss: OwnFunction | None = None,
    measure: OwnFunction | None = None,
    any_system: bool = False,
    any_length: bool = False,
    **rederiving: Any,
) -> Report:
    """Calibrate again, and count and compute everything; `rederiving` is what else `rederive` takes."""
    watch.stage("calibrating")
    asked: dict[str, Any] = {"loss": loss, "measure": measure, "any_system": any_system}
    rederived = rederive(certificate, data, **asked, **rederiving)
    kept = kept_sizes(certificate, rederived)
    return Report(
        certificate=certificate,
        quantity=quantity_of(certificate),
        data=datasheet(certificate, data, rederived),
        sizes=count_sizes(kept),
        changes=count_changes(certificate, rederived, kept),
        tradeoff=trade_off(rederived, watch),
        explorer=explore(rederived, watch) if rederived.searched else None,
        check=None if held_out is None else check(certificate, held_out, any_length=any_length, **asked),
        seen=0 if held_out is None else held_out.cut(certificate.depth).shared_with(data.cut(certificate.depth)),
        ms_per_pair=ms_per_pair,
        command=command,
    )


def _plain(value: Any) -> Any:
    """Infinite thresholds as words, so that any reader of JSON takes them."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return threshold_to_json(value)
    return value
