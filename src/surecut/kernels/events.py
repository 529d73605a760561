"""Events of many queries: gathered in another order of the queries, or sorted by the step that applies them."""

import numpy as np

from surecut.arrays import Float64, Int64
from surecut.kernels.jit import kernel


@kernel
def take_events(keys: Float64, values: Float64, firsts: Int64, offsets: Int64) -> tuple[Float64, Float64]:
    """Keys and values of some queries' events: those of the i-th begin at `firsts[i]` and go to `offsets[i]`."""
    taken_keys = np.empty(offsets[-1])
    taken_values = np.empty(offsets[-1])
    for i in range(firsts.size):
        for event in range(offsets[i + 1] - offsets[i]):
            taken_keys[offsets[i] + event] = keys[firsts[i] + event]
            taken_values[offsets[i] + event] = values[firsts[i] + event]
    return taken_keys, taken_values


@kernel
def running_values(start: Float64, changes: Float64, offsets: Int64) -> Float64:
    """The value after each event of a curve that begins at `start`; each curve is added up by itself."""
    values = np.empty(changes.size)
    for unit in range(start.size):
        value = start[unit]
        for event in range(offsets[unit], offsets[unit + 1]):
            value += changes[event]
            values[event] = value
    return values


@kernel
def step_of(key: float, grid: Float64) -> int:
    """The first grid point above the key, by its place."""
    low, high = 0, grid.size
    while low < high:
        middle = (low + high) // 2
        if grid[middle] > key:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def events_by_step(keys: Float64, values: Float64, offsets: Int64, grid: Float64) -> tuple[Int64, Int64, Float64]:
    """Events sorted by the grid point that removes their candidate, those of one in their order: (bounds, owners,
    values), where `bounds[i]` events come before grid point `i`."""
    steps = np.empty(keys.size, np.int32)
    bounds = np.zeros(grid.size + 2, np.int64)
    for event in range(keys.size):
        steps[event] = step_of(keys[event], grid)
        bounds[steps[event] + 1] += 1
    for step in range(grid.size + 1):
        bounds[step + 1] += bounds[step]
    filled = bounds.copy()
    owners = np.empty(keys.size, np.int64)
    sorted_values = np.empty(keys.size)
    for q in range(offsets.size - 1):
        for event in range(offsets[q], offsets[q + 1]):
            place = filled[steps[event]]
            owners[place] = q
            sorted_values[place] = values[event]
            filled[steps[event]] += 1
    return bounds[: grid.size + 1], owners, sorted_values
