"""What a certificate says, in words that can be quoted."""

import math
from collections.abc import Mapping
from typing import Any

from surecut.choices import Choices
from surecut.planning import ANOTHER_LOOK

ASSUMPTIONS = (
    "The calibration queries are an independent random sample of the queries the claim is about; "
    "near-duplicates of one another count as one (use groups).",
    "Retriever, reranker, list depth and fusion weight are the ones calibrated on.",
    "The reranker scores each document by itself: a document's final score does not depend on the others.",
    "The measure, target, rule and confidence were chosen without looking at these queries' labels; keeping "
    "the best of several certificates made from one sample needs the error probability divided by their number.",
)


def looks_in_words(look: int) -> str:
    """What a calibration on a growing sample rests on."""
    return (
        f"The looks at the growing sample were declared before it was seen; this is look {look}, which has "
        f"{percent(2.0**-look)} of the error probability, so that all looks together keep the confidence."
    )


CAP_NOT_APPLIED = "The cap of max_keep is not applied either."


def state(
    choices: Choices,
    status: str,
    threshold: float,
    relaxed: Mapping[str, Any] | None,
    reasons: tuple[str, ...],
    advice: Mapping[str, Any] | None,
    calibration: Mapping[str, Any],
) -> str:
    """The statement of a certificate."""
    claim = choices.target.words(str(choices.measure))
    confidence = percent(choices.confidence)
    sizes = kept_in_words(calibration)
    capped = choices.max_keep is not None and choices.max_keep < calibration["longest_list"]
    unpruned = f"the list cut at {choices.max_keep}" if capped else "the unpruned list"
    nothing = "Nothing more is pruned." if capped else "Nothing is pruned."
    population = f"for queries like the {calibration['queries']:,} it was calibrated on"
    if calibration["units"] != calibration["queries"]:
        population += f" (each of {calibration['units']:,} groups counting once)"
    if status == "certified":
        if threshold == -math.inf and not capped:
            return f"With {confidence} confidence, {claim}, {population}, with the full list; nothing could be pruned."
        return f"With {confidence} confidence, {claim}, {population}. {sizes}"
    if status == "relaxed-target":
        assert relaxed is not None
        looser = choices.target.with_value(relaxed["value"]).words(str(choices.measure))
        return (
            f"It cannot be certified with {confidence} confidence that {claim}. For {unpruned} itself something is: "
            f"with {confidence} confidence, {looser}, {population}. {nothing}"
        )
    if status == "relaxed-confidence":
        assert relaxed is not None
        return (
            f"The walk cannot certify with {confidence} confidence that {claim}. For {unpruned} alone the data "
            f"reach {percent(relaxed['confidence'])}, a level chosen after seeing them, so no confidence level; the "
            f"evidence factor is {relaxed['evidence_factor']:.3g}: were the claim false, a factor of at least t "
            f"would have a probability of at most 1/t. {nothing}"
        )
    if status == "uncertified":
        return (
            f"Not certified ({'; '.join(reasons)}). The target was that {claim}. {sizes}{_published(choices, relaxed)}"
        )
    dropped = f" {CAP_NOT_APPLIED}" if choices.max_keep is not None else ""
    return (
        f"Nothing is certified and nothing is pruned: {_why(choices, claim, confidence, advice, calibration)}{dropped}"
    )


def percent(share: float) -> str:
    return f"{100 * share:.6g}%"


def kept_in_words(calibration: Mapping[str, Any]) -> str:
    """How many candidates are reranked, on average and in the tail."""
    kept, candidates = calibration["mean_kept"], calibration["mean_candidates"]
    tail = calibration["kept_quantiles"]
    return (
        f"On average {kept:,.1f} of {candidates:,.0f} candidates are reranked, {candidates / max(kept, 1e-12):,.1f} "
        f"times fewer (median {tail['p50']:,}, 95th percentile {tail['p95']:,}, 99th {tail['p99']:,})."
    )


def _rounded(count: int) -> int:
    """Two figures are all an estimate is good for."""
    return int(float(f"{count:.2g}"))


def _published(choices: Choices, relaxed: Mapping[str, Any] | None) -> str:
    if relaxed is None or relaxed.get("published_level") is None:
        return ""
    confidence = relaxed["published_confidence"]
    raised = "none" if confidence is None else percent(confidence)
    return (
        " Its search ended at once, because its bound for the full list misses the target, so nothing is pruned. Its "
        f"corrected risk, the smallest bound of any threshold, is {relaxed['published_level']:.4f} "
        f"({choices.target.level:.4f} was asked for), its corrected confidence {raised}; neither holds as stated."
    )


def _why(
    choices: Choices,
    claim: str,
    confidence: str,
    advice: Mapping[str, Any] | None,
    calibration: Mapping[str, Any],
) -> str:
    units, each = calibration["units"], "queries"
    if units != calibration["queries"]:
        each = "groups of queries"
    start = f"{units:,} {each} do not show with {confidence} confidence that {claim}"
    if advice is None:
        return f"{start}."
    if advice["queries"] is None:
        needed = f"no number of {each} would show it at the sizes tried"
    else:
        needed = (
            f"about {_rounded(advice['queries']):,} would probably do (keeping {advice['mean_kept']:,.0f} on average)"
        )
    tightest = "nothing tighter than trivial"
    if advice["tightest"] is not None:
        tightest = choices.target.with_value(advice["tightest"]).words(str(choices.measure))
    return f"{start}; {needed}. The tightest this many would probably certify: {tightest} ({ANOTHER_LOOK})."
