"""Threads: results in order, items only a little ahead of their turn, errors at home."""

import threading
import time

import pytest

from surecut import InputError
from surecut.runners import Local
from surecut.runners.threads import THREADS, cores, in_order


def test_results_come_in_the_order_of_the_items():
    def slow_at_first(item):
        time.sleep(0.02 if item % 4 == 0 else 0)
        return item * item

    assert list(in_order(slow_at_first, range(30), jobs=4)) == [item * item for item in range(30)]


def test_items_are_asked_for_only_a_little_ahead():
    asked = []

    def items():
        for item in range(100):
            asked.append(item)
            yield item

    results = in_order(lambda item: item, items(), jobs=2)
    for _ in range(3):
        next(results)
    assert len(asked) <= 3 + 2 * 2


def test_the_first_error_is_raised_and_the_rest_is_left():
    done = []

    def work(item):
        if item == 3:
            raise InputError("item 3 is odd")
        done.append(item)
        return item

    with pytest.raises(InputError, match="item 3 is odd"):
        list(in_order(work, range(1000), jobs=2))
    assert len(done) < 20


def test_several_work_at_a_time():
    together = threading.Barrier(3, timeout=10)
    assert list(in_order(lambda _: together.wait() >= 0, range(3), jobs=3)) == [True] * 3


def test_no_jobs_are_refused():
    with pytest.raises(InputError, match="jobs must be at least 1"):
        list(Local(0).map(len, ["a"]))


def test_the_number_of_threads_may_be_set_from_outside(monkeypatch):
    monkeypatch.setenv(THREADS, "3")
    assert cores() == 3
    monkeypatch.setenv(THREADS, "many")
    assert cores() >= 1


def test_a_worker_is_made_once_and_its_results_have_places():
    made = []

    def worker():
        made.append(1)
        return str

    assert list(Local().infer(worker, [])) == []
    assert made == []
    assert list(Local().infer(worker, [7, 8])) == [(0, "7"), (1, "8")]
    assert made == [1]
