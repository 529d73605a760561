"""What is declared when a period begins, before any feedback is seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surecut.choices import check_share
from surecut.errors import InputError
from surecut.folding import FEWEST
from surecut.monitoring.streams import Levels


@dataclass(frozen=True)
class Settings:
    """The terms of a period."""

    levels: Levels
    top: int  # of the unpruned list, for agreement
    floor: float | None  # the least agreement that is expected; None raises no alarm
    first_look: int  # queries of the first recalibration; each further one takes twice as many
    tune_fraction: float  # of a look's queries, set aside where something is fitted
    any_length: bool
    reference: int  # lists that traffic is compared with, beside earlier traffic
    salt: str
    disbelieved: bool = False  # was the claim found false in an earlier period, and nobody has said otherwise?

    def __post_init__(self) -> None:
        if self.first_look < FEWEST:
            raise InputError(f"a first look at {self.first_look} queries: at least {FEWEST} are needed to say anything")
        check_share("the tuning share", self.tune_fraction)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Settings":
        return cls(**{**record, "levels": Levels(**record["levels"])})
