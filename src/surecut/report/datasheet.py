"""What the certificate was made from: queries, candidates, judgements, and what the first stage can reach."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surecut.calibration import Calibration
from surecut.candidates import Candidates, counts_by_query
from surecut.certificate import Certificate
from surecut.counting import census

_TOP = 10  # of the final list, where the measure has no cutoff


@dataclass(frozen=True)
class Ceiling:
    """What no reranker can mend: relevant documents the first stage did not find."""

    recall: float  # mean share of the relevant documents among the candidates
    reachable: float  # share of the queries with any relevant candidate


@dataclass(frozen=True)
class Datasheet:
    """The data behind the certificate."""

    queries: int
    units: int
    candidates: int
    depth: int
    shortest: int
    longest: int
    counts: Mapping[str, Any]  # the census of the queries that were used, and of what was left out
    ceiling: Ceiling | None  # None where no judgements are used


def datasheet(certificate: Certificate, data: Candidates, rederived: Calibration) -> Datasheet:
    """Count what was read and what was used."""
    measure, used = rederived.choices.measure, rederived.prepared.data
    assert isinstance(used, Candidates)
    counts = census(used, rederived.prepared.reduced, measure.needs_judgements)
    facts = certificate.calibration
    return Datasheet(
        queries=len(used),
        units=int(facts["units"]),
        candidates=int(used.retriever.size),
        depth=certificate.depth,
        shortest=int(used.lengths.min()),
        longest=int(used.lengths.max()),
        counts={**counts, "unjudged_queries": int((~data.judged).sum())},
        ceiling=_ceiling(used, getattr(measure, "rel", 1)) if measure.needs_judgements else None,
    )


def _ceiling(data: Candidates, rel: int) -> Ceiling:
    """As ir-measures counts: a query without relevant documents has a recall of 0."""
    found = counts_by_query(data.grades >= rel, data.offsets)
    everything = found + counts_by_query(data.missed >= rel, data.missed_offsets)
    return Ceiling(float((found / np.maximum(everything, 1)).mean()), float((found > 0).mean()))
