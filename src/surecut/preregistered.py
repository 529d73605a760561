"""The order in which the tests look at units: by a hash of their ids, fixed before anything is known of the losses."""

from collections.abc import Iterable

import numpy as np

from surecut.arrays import Int64, UInt64
from surecut.candidates import hashed
from surecut.curves import Curves
from surecut.lists import Lists, by_id

_SALT = b"surecut order "


def order_hashes(units: Iterable[str]) -> UInt64:
    """The numbers that decide the order."""
    return hashed(units, _SALT)


def preregistered_order(units: Iterable[str]) -> Int64:
    """Positions in the pre-registered order."""
    return np.argsort(order_hashes(units), kind="stable")


def in_test_order(curves: Curves, data: Lists, hashes: UInt64) -> Curves:
    """One curve a unit, in the pre-registered order; `hashes` are those of each query's unit."""
    if data.groups is None:
        return curves.take(np.argsort(hashes, kind="stable"))
    names, heads, unit = np.unique(data.groups, return_index=True, return_inverse=True)
    place = np.empty(names.size, dtype=np.int64)
    place[np.argsort(hashes[heads], kind="stable")] = np.arange(names.size)
    order = by_id(data)
    return curves.take(order).merged(place[unit[order]])
