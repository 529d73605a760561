"""The order of the tests: that of the hashes, whatever order the queries come in."""

import hashlib

import numpy as np

from surecut.curves import measure_curves
from surecut.measures import as_measure
from surecut.preregistered import in_test_order, order_hashes, preregistered_order
from surecut.rules import as_rule
from surecut.simulation import simulate


def curves_in_order(data):
    curves = measure_curves(data, as_rule("rank").keys(data), data.reranker, as_measure("RR@10"))
    return in_test_order(curves, data, order_hashes(data.units))


def test_the_order_is_that_of_blake2b_with_a_salt():
    ids = ["b", "a", "é", "007"]
    by_hand = [hashlib.blake2b(b"surecut order " + each.encode(), digest_size=8).digest() for each in ids]
    assert preregistered_order(ids).tolist() == sorted(range(4), key=by_hand.__getitem__)
    assert order_hashes(ids).tolist() == [int.from_bytes(each, "big") for each in by_hand]


def test_shuffled_queries_are_tested_in_the_same_order():
    data = simulate("dense-electra", queries=50, depth=20, seed=1)
    groups = {query: f"g{number % 20}" for number, query in enumerate(data.query_ids)}
    shuffled = np.random.default_rng(0).permutation(50)
    for some in (data, data.with_groups(groups)):
        one, other = curves_in_order(some), curves_in_order(some.take(shuffled))
        for column in ("full", "start", "offsets", "keys", "values"):
            assert getattr(one, column).tobytes() == getattr(other, column).tobytes()
        assert len(one) == (50 if some.groups is None else 20)
