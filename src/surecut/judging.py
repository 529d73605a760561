"""An independent judge: the same final lists, evaluated by ir-measures.

surecut decides ties once, and hands over each list with strictly falling surrogate scores.
"""

from typing import Any

import numpy as np

from surecut.arrays import Float64, Int64
from surecut.candidates import Candidates
from surecut.curves import Tail
from surecut.errors import EvaluatorsDisagree
from surecut.measures import NO_CUTOFF, Measure

AGREES = 1e-9


def final_order(data: Candidates, final: Float64, kept: Int64, tail: Tail, query: int) -> Int64:
    """Rows of one query's final list: survivors by final score, then (append) the rest as retrieved."""
    low, high = int(data.offsets[query]), int(data.offsets[query + 1])
    border = low + int(kept[query])
    survivors = low + np.argsort(-final[low:border], kind="stable")
    return np.concatenate((survivors, np.arange(border, high))) if tail == "append" else survivors


def judged_values(data: Candidates, final: Float64, kept: Int64, tail: Tail, measure: Measure) -> Float64:
    """The measure of every query's final list, by ir-measures."""
    import ir_measures

    cutoff = measure.cutoff or NO_CUTOFF
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    everything = data.lengths
    for query in range(len(data)):
        if not measure.needs_judgements and everything[query] == 0:
            continue  # nothing to disagree about
        name = str(query)
        rows = final_order(data, final, kept, tail, query)[:cutoff]
        run[name] = {f"d{row}": float(rows.size - place) for place, row in enumerate(rows)}
        if measure.needs_judgements:
            qrels[name] = _judgements(data, query)
        else:
            unpruned = final_order(data, final, everything, tail, query)[:cutoff]
            qrels[name] = {f"d{row}": 1 for row in unpruned}
    values = np.zeros(len(data)) if measure.needs_judgements else (everything == 0).astype(np.float64)
    counterpart = _counterpart(measure, ir_measures)
    for result in ir_measures.pytrec_eval.iter_calc([counterpart], qrels, run):
        values[int(result.query_id)] = result.value
    return values


def confirm(own: Float64, judged: Float64, data: Candidates, measure: Measure) -> float:
    """The largest difference between the two evaluators; raise when it is more than rounding."""
    apart = np.abs(own - judged)
    worst = int(np.argmax(apart))
    if apart[worst] > AGREES:
        raise EvaluatorsDisagree(
            f"{measure} of query '{data.query_ids[worst]}': surecut says {float(own[worst])!r}, ir-measures "
            f"{float(judged[worst])!r}; please report this"
        )
    return float(apart[worst])


def _judgements(data: Candidates, query: int) -> dict[str, int]:
    low, high = int(data.offsets[query]), int(data.offsets[query + 1])
    relevant = low + np.flatnonzero(data.grades[low:high] > 0)
    missed = data.missed[data.missed_offsets[query] : data.missed_offsets[query + 1]]
    found = {f"d{row}": int(data.grades[row]) for row in relevant}
    beyond = {f"m{place}": int(grade) for place, grade in enumerate(missed)}
    return {"none": 0, **found, **beyond}


def _counterpart(measure: Measure, ir_measures: Any) -> Any:
    """ir-measures' form of the measure: its pytrec_eval has no RR@k and no R without k."""
    name = {"Overlap": "R"}.get(measure.family.name, measure.family.name)
    level = f"(rel={measure.rel})" if measure.rel != 1 else ""
    if name == "RR":
        return ir_measures.parse_measure(f"RR{level}")  # the list is cut at k
    cutoff = measure.cutoff if measure.cutoff is not None or name != "R" else 1_000_000
    return ir_measures.parse_measure(f"{name}{level}" + (f"@{cutoff}" if cutoff else ""))
