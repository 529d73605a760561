"""What the trials found: one outcome a method and trial, one summary a method."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from surecut.certificate import threshold_to_json


@dataclass(frozen=True)
class Outcome:
    """One method in one trial.

    The first part is about the split and its test batch, the `true_` part about the draw with replacement
    and the population it came from. A claim holds also where none is made (the method abstained).
    """

    trial: int
    status: str
    threshold: float
    confidence: float | None  # what it promises, after any correction; None: it promises nothing
    corrected: bool  # did the published procedure fail at the full list, and correct what it promises?
    measure: float  # mean on the test batch
    size: float  # mean kept on the test batch
    median_kept: float  # of the queries of the test batch
    holds_on_batch: bool
    true_status: str
    true_threshold: float
    true_measure: float
    true_size: float
    holds: bool


@dataclass(frozen=True)
class Summary:
    """One method over all trials.

    `batch_coverage` and `true_coverage` are shares of the trials in which the claim held on the test batch, and of
    the population; `confidence` is the mean of what was promised, None for a method that promises nothing. Sizes are
    candidates reranked on the test queries, `abstained` is the share of trials without a claim.
    """

    method: str
    claim: str
    measure: float
    confidence: float | None
    batch_coverage: float
    true_coverage: float
    mean_size: float
    median_size: float
    abstained: float
    speedup: float

    @classmethod
    def of(cls, method: str, claim: str, outcomes: Sequence[Outcome], mean_candidates: float) -> "Summary":
        sizes = np.array([each.size for each in outcomes])
        confidences = [each.confidence for each in outcomes if each.confidence is not None]
        return cls(
            method=method,
            claim=claim,
            measure=float(np.mean([each.measure for each in outcomes])),
            confidence=round(float(np.mean(confidences)), 10) if confidences else None,
            batch_coverage=float(np.mean([each.holds_on_batch for each in outcomes])),
            true_coverage=float(np.mean([each.holds for each in outcomes])),
            mean_size=float(sizes.mean()),
            median_size=float(np.median(sizes)),
            abstained=float(np.mean([each.status == "abstained" for each in outcomes])),
            speedup=mean_candidates / max(float(sizes.mean()), 1e-12),
        )


@dataclass(frozen=True)
class Block:
    """Every method on the same draws: calibrated on one pool, tested on the same or on another one."""

    calibrated_on: str
    tested_on: str
    in_domain: bool  # are they the same pool?
    methods: Sequence[Summary]
    outcomes: Sequence[Sequence[Outcome]]  # for each method, by trial


@dataclass(frozen=True)
class Trials:
    """What `run_trials` found, with what is needed to run it again.

    `blocks` has one entry, or two with `test_on`: claims from other data, and from the tested data itself.
    `differences` says in words what can be seen of how the two differ.
    """

    blocks: Sequence[Block]
    measure: str
    confidence: float
    trials: int
    calibration: int
    test: int
    seed: int
    queries: int  # in the pool that the truth is about
    units: int  # that they are drawn by: queries, or groups of them
    mean_candidates: float
    differences: Sequence[str]  # between calibration and test data, in words
    shared: int  # units that are in both
    filled_reranked: Sequence[int]  # candidates without a reranker score that were placed last, in each of the data

    def to_markdown(self) -> str:
        """The table, with its notes."""
        from surecut.trials.table import as_markdown

        return as_markdown(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, thresholds as certificates write them."""
        record = asdict(self)
        for block in record["blocks"]:
            for outcome in (each for outcomes in block["outcomes"] for each in outcomes):
                for name in ("threshold", "true_threshold"):
                    outcome[name] = threshold_to_json(outcome[name])
        return record
