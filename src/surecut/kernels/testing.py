"""Decisions of the tests, and the walk that asks for thousands of them (THEORY, sections 2 and 3).

The walk changes a few losses and asks again. A betting test reads its losses in order, so what it did
before the first changed loss still stands: it is resumed from a checkpoint, and not rerun at all when it
had already stopped before that loss.
"""

import math

import numpy as np

from surecut.arrays import Float64, Int64
from surecut.kernels.codes import CRITICAL_SUM, HEDGE, HEDGE_CAP, WSR
from surecut.kernels.jit import kernel

BLOCK = 8  # losses between two checkpoints, and between two refreshes of the hedge bet
_ENDGAME = 32  # over the last losses the hedge bet is refreshed every time
_LOST = 1e-9  # a hedge that has lost this much stops
_GOAL_MARGIN = 1.1  # 1 + eta: aim a little above the goal


def checkpoints_for(size: int) -> Float64:
    """Room for the state (wealth, sum, sum of squares) at the start of each block."""
    return np.empty((size // BLOCK + 1, 3))


@kernel
def goal_hedge(u: float, table: Float64) -> float:
    """phi(Phi^-1(u)) / u, looked up in a table that is even in log u (see `bounds.hedge`)."""
    place = (math.log(u) - table[0]) * table[1]
    if place <= 0.0:
        return table[2]
    if place >= table.size - 3:
        return table[table.size - 1]
    low = int(place)
    share = place - low
    return table[2 + low] * (1.0 - share) + table[3 + low] * share


@kernel
def betting_rejects(
    losses: Float64,
    level: float,
    delta: float,
    test: int,
    table: Float64,
    checkpoints: Float64,
    memory: Int64,
    changed: int,
) -> bool:
    """Does K_t = prod(1 + nu_j (level - x_j)) reach 1/delta at any t?

    `memory` holds where the last run of this test stopped and what it found; `changed` is the first loss
    that is different since then (0 for a fresh start).
    """
    size = losses.size
    if changed > memory[0]:
        return memory[1] == 1
    if changed == 0:
        checkpoints[0, 0] = 1.0
        checkpoints[0, 1] = 0.5
        checkpoints[0, 2] = 0.25
    block = changed // BLOCK
    wealth, total, squares = checkpoints[block, 0], checkpoints[block, 1], checkpoints[block, 2]
    goal = 1.0 / delta
    largest = HEDGE_CAP / (1.0 - level)
    low = block * BLOCK
    while low < size:
        if low % BLOCK == 0:
            checkpoints[low // BLOCK, 0] = wealth
            checkpoints[low // BLOCK, 1] = total
            checkpoints[low // BLOCK, 2] = squares
        variance = squares / (low + 1)
        high = low + 1
        if test == WSR:
            bet = min(1.0, math.sqrt(2.0 * math.log(goal) / (size * variance)))
        else:
            bet = goal_hedge(delta * wealth / _GOAL_MARGIN, table) / math.sqrt(variance * (size - low))
            bet = min(max(bet, 0.0), largest)
            if size - low > _ENDGAME:
                high = min(low - low % BLOCK + BLOCK, size - _ENDGAME)
        for t in range(low, high):
            loss = losses[t]
            wealth *= 1.0 + bet * (level - loss)
            if wealth >= goal:
                memory[0] = t
                memory[1] = 1
                return True
            total += loss
            squares += (loss - total / (t + 2)) ** 2
        if test == HEDGE and wealth < _LOST:
            memory[0] = high - 1
            memory[1] = 0
            return False
        low = high
    memory[0] = size
    memory[1] = 0
    return False


@kernel
def sum_of(values: Float64) -> float:
    """Sum in four lanes: quick, and the same on every machine."""
    size = values.size
    full = size - size % 4
    a = b = c = d = 0.0
    for i in range(0, full, 4):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
    for i in range(full, size):
        a += values[i]
    return (a + b) + (c + d)


@kernel
def decide(
    losses: Float64,
    level: float,
    delta: float,
    test: int,
    critical: float,
    table: Float64,
    checkpoints: Float64,
    memory: Int64,
    changed: int,
) -> bool:
    """Is H0: E[loss] >= level rejected at `delta`?

    `critical` is the largest sum that is rejected (CRITICAL_SUM) or the normal quantile (CLT).
    """
    if test in (HEDGE, WSR):
        return betting_rejects(losses, level, delta, test, table, checkpoints, memory, changed)
    if test == CRITICAL_SUM:
        return sum_of(losses) <= critical
    size = losses.size
    mean = sum_of(losses) / size
    squares = 0.0
    for i in range(size):
        squares += (losses[i] - mean) ** 2
    error = math.sqrt(squares / max(size - 1, 1) / size)
    return mean < level and (level - mean) >= critical * error


@kernel
def apply_events(losses: Float64, units: Int64, values: Float64, low: int, high: int) -> int:
    """Write events `low` to `high` into the losses, in order, and return the first unit they touched."""
    first = np.int64(losses.size)
    for event in range(low, high):
        losses[units[event]] = values[event]
        first = min(first, units[event])
    return first


@kernel
def steps_passed(
    losses: Float64,
    level: float,
    delta: float,
    test: int,
    critical: float,
    table: Float64,
    checkpoints: Float64,
    units: Int64,
    values: Float64,
    bounds: Int64,
    first_step: int,
    start_is_tested: bool,
) -> int:
    """Walk the steps from `first_step`: apply each one's events, test, stop at the first not rejected.

    Returns the number of steps passed, or -1 when the start itself was to be tested and failed. A step
    without events repeats the hypothesis before it as far as these losses can tell, and passes with it.
    """
    memory = np.array([losses.size, 0], np.int64)
    tested = False
    changed = np.int64(0)
    if start_is_tested:
        if not decide(losses, level, delta, test, critical, table, checkpoints, memory, changed):
            return -1
        tested = True
    steps = bounds.size - 1
    for step in range(first_step, steps):
        if tested and bounds[step] == bounds[step + 1]:
            continue
        changed = apply_events(losses, units, values, bounds[step], bounds[step + 1])
        if not tested:
            changed = np.int64(0)
        if not decide(losses, level, delta, test, critical, table, checkpoints, memory, changed):
            return step - first_step
        tested = True
    return steps - first_step
