"""How one query's measure changes as its survivors grow from none to the whole list (THEORY, section 6)."""

import math

import numpy as np

from surecut.arrays import Array, Bool, Float64, Int32, Int64
from surecut.kernels.codes import NDCG, PRECISION, RECALL, RR, SUCCESS
from surecut.kernels.jit import kernel
from surecut.kernels.lists import longest_list

_FEW = 4  # candidates of a list whose ranks are counted one by one


@kernel
def gain_of(grade: int, measure: int, rel: int) -> int:
    """What a candidate of this grade is worth: its grade for nDCG, 1 or 0 elsewhere."""
    if measure == NDCG:
        return max(grade, 0)
    return 1 if grade >= rel else 0


@kernel
def measure_of(
    measure: int,
    cutoff: int,
    total: float,
    ranks: Int64,
    gains: Int64,
    live: int,
    waiting_ranks: Int64,
    waiting_gains: Int64,
    first_waiting: int,
    waiting: int,
) -> float:
    """The measure of a final list, from the ranks of its relevant documents.

    `ranks[:live]` are reranked survivors; `waiting_ranks[first_waiting:waiting]` are pruned documents that
    follow them in retriever order (empty under the `drop` tail).
    """
    found = live + waiting - first_waiting
    if found == 0:
        return 0.0
    if measure == RR:
        return 1.0 / (ranks[0] if live > 0 else waiting_ranks[first_waiting])
    if measure == SUCCESS:
        return 1.0
    if measure == PRECISION:
        return found / cutoff
    if total <= 0.0:
        return 0.0
    if measure == RECALL:
        return found / total
    value = 0.0
    for i in range(found):
        if i < live:
            rank, gain = ranks[i], gains[i]
        else:
            rank, gain = waiting_ranks[first_waiting + i - live], waiting_gains[first_waiting + i - live]
        if measure == NDCG:
            value += gain / math.log2(rank + 1.0)
        else:
            value += (i + 1.0) / rank
    return value / total


@kernel
def grown(values: Array, size: int) -> Array:
    """The same values with room for `size` of them."""
    larger = np.empty(size, values.dtype)
    for i in range(values.size):
        larger[i] = values[i]
    return larger


@kernel
def not_negative(values: Int32) -> int:
    """How many are at least 0."""
    count = 0
    for i in range(values.size):
        count += values[i] >= 0
    return count


@kernel
def at_least(values: Float64, bound: float) -> int:
    """How many are not below the bound."""
    count = 0
    for i in range(values.size):
        count += values[i] >= bound
    return count


@kernel
def above(values: Float64, bound: float) -> int:
    """How many are above the bound."""
    count = 0
    for i in range(values.size):
        count += values[i] > bound
    return count


@kernel
def enter(
    before: Float64,
    score: float,
    gain: int,
    cutoff: int,
    best_only: bool,
    scores: Float64,
    ranks: Int64,
    gains: Int64,
    live: int,
) -> int:
    """Let a candidate enter after those in `before`; returns how many relevant ones are now within the cutoff.

    Relevant ones it outranks move down by one; one that falls past the cutoff is gone for good. If only the best
    counts, only the best is held.
    """
    above = live
    while above > 0 and scores[above - 1] < score:
        above -= 1
        ranks[above] += 1
    if gain > 0 and not (best_only and above > 0):
        rank = 1 + at_least(before, score)
        if rank <= cutoff:
            if best_only:
                live = above
            for j in range(live, above, -1):
                scores[j], ranks[j], gains[j] = scores[j - 1], ranks[j - 1], gains[j - 1]
            scores[above], ranks[above], gains[above] = score, rank, gain
            live += 1
    while live > 0 and ranks[live - 1] > cutoff:
        live -= 1
    return live


@kernel
def measure_curves(
    final: Float64,
    grades: Int32,
    offsets: Int64,
    totals: Float64,
    measure: int,
    cutoff: int,
    rel: int,
    append: bool,
    min_keep: int,
    max_keep: int,
) -> tuple[Float64, Float64, Int64, Int64, Float64]:
    """Change points of every query's measure.

    Returns the measure of the whole list, the measure of the first `max_keep`, and as one CSR
    (`event_offsets`, `event_at`, `event_value`) the candidates whose removal changes it with the value that
    remains, longest prefix first.
    """
    queries = offsets.size - 1
    longest = longest_list(offsets)
    full = np.zeros(queries)
    capped = np.zeros(queries)
    event_offsets = np.zeros(queries + 1, np.int64)
    event_at = np.empty(4 * queries + longest, np.int64)
    event_value = np.empty(event_at.size)
    events = 0
    scores = np.empty(longest)
    ranks = np.empty(longest, np.int64)
    gains = np.empty(longest, np.int64)
    waiting_ranks = np.empty(longest, np.int64)
    waiting_gains = np.empty(longest, np.int64)
    best_only = measure in (RR, SUCCESS)

    for q in range(queries):
        low = offsets[q]
        size = offsets[q + 1] - low
        cap = min(size, max_keep)
        live = first_waiting = waiting = np.int64(0)
        if append:
            for i in range(min(size, cutoff)):
                gain = gain_of(grades[low + i], measure, rel)
                if gain > 0:
                    waiting_ranks[waiting] = i + 1
                    waiting_gains[waiting] = gain
                    waiting += 1
        total = totals[q]
        value = measure_of(
            measure, cutoff, total, ranks, gains, live, waiting_ranks, waiting_gains, first_waiting, waiting
        )
        capped[q] = value
        first_event = events
        if events + size > event_at.size:
            event_at = grown(event_at, 2 * events + size)
            event_value = grown(event_value, 2 * events + size)
        finals, graded = final[low : low + size], grades[low : low + size]
        for i in range(size):
            score = finals[i]
            gain = gain_of(graded[i], measure, rel)
            if gain == 0:
                if live == 0 or score <= scores[live - 1]:
                    continue
            elif first_waiting < waiting and waiting_ranks[first_waiting] == i + 1:
                first_waiting += 1
            live = enter(finals[:i], score, gain, cutoff, best_only, scores, ranks, gains, live)
            new = measure_of(
                measure,
                cutoff,
                total,
                ranks,
                gains,
                live,
                waiting_ranks,
                waiting_gains,
                first_waiting,
                waiting,
            )
            if new != value:
                if min_keep <= i < cap:
                    event_at[events] = low + i
                    event_value[events] = value
                    events += 1
                value = new
            if i < cap:
                capped[q] = value
        full[q] = value
        for i in range((events - first_event) // 2):
            a, b = first_event + i, events - 1 - i
            event_at[a], event_at[b] = event_at[b], event_at[a]
            event_value[a], event_value[b] = event_value[b], event_value[a]
        event_offsets[q + 1] = events
    return full, capped, event_offsets, event_at[:events], event_value[:events]


@kernel
def find_top(final: Float64, low: int, high: int, scores: Float64, places: Int64) -> int:
    """Fill `places` with as many of the best candidates from `low` to `high` as it has room for; returns how many."""
    k = places.size
    held = 0
    for i in range(low, high):
        score = final[i]
        if held == k and score <= scores[k - 1]:
            continue
        j = held if held < k else k - 1
        while j > 0 and scores[j - 1] < score:
            scores[j], places[j] = scores[j - 1], places[j - 1]
            j -= 1
        scores[j], places[j] = score, i
        held = min(held + 1, k)
    return held


@kernel
def mark_top(final: Float64, offsets: Int64, k: int) -> Int32:
    """1 for every candidate in the first k of its query's unpruned final list, else 0."""
    marks = np.zeros(final.size, np.int32)
    k = min(k, final.size)
    scores = np.empty(k)
    places = np.empty(k, np.int64)
    for q in range(offsets.size - 1):
        for j in range(find_top(final, offsets[q], offsets[q + 1], scores, places)):
            marks[places[j]] = 1
    return marks


@kernel
def count_top(final: Float64, grades: Int32, judged: Bool, offsets: Int64, k: int) -> tuple[int, int]:
    """Candidates in the first k of the unpruned final lists of judged queries, and how many of them have a grade."""
    scores = np.empty(min(k, final.size))
    places = np.empty(scores.size, np.int64)
    found = 0
    graded = 0
    for q in range(offsets.size - 1):
        low, high = offsets[q], offsets[q + 1]
        if not judged[q]:
            continue
        found += min(k, high - low)
        if not_negative(grades[low:high]) > _FEW:
            for j in range(find_top(final, low, high, scores, places)):
                graded += grades[places[j]] >= 0
            continue
        for i in range(low, high):
            if grades[i] >= 0:
                graded += at_least(final[low:i], final[i]) + above(final[i + 1 : high], final[i]) < k
    return found, graded
