"""Whatever is told of a few queries, in whatever pieces: it is counted once, or refused in one sentence."""

import contextlib

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surecut.errors import InputError
from surecut.monitoring.feedback import Feedback
from surecut.monitoring.monitor import Monitor
from surecut.monitoring.streams import STREAMS

SHARES = st.floats(0.0, 1.0)
LISTS = st.lists(st.sampled_from("abcdef"), max_size=4)


@st.composite
def records(draw):
    """A record, or something like one."""
    ids = draw(st.none() | LISTS)
    scores = st.lists(st.floats(-5, 5), min_size=len(ids or ()), max_size=len(ids or ()))
    told = {
        "id": draw(st.sampled_from(["q1", "q2", "q3"])),
        "ids": ids,
        "retriever": None if ids is None else draw(scores),
        "reranker": draw(st.none() | scores | st.lists(st.floats(-5, 5), max_size=4)),
        "judgements": draw(st.none() | st.dictionaries(st.sampled_from("abcxyz"), st.integers(-1, 3), max_size=3)),
        "measured": draw(st.none() | SHARES),
        "full": draw(st.none() | SHARES),
        "overlap": draw(st.none() | SHARES),
    }
    return msgspec.to_builtins({name: value for name, value in told.items() if value is not None})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("any") / "monitor.db"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(records(), min_size=1, max_size=3), min_size=1, max_size=6))
def test_any_pieces_are_counted_once_or_refused(certificate, store, batches):
    monitor = Monitor(certificate, store, any_length=True)
    with contextlib.suppress(InputError):
        monitor.start(any_length=True)
    monitor.restart(believe_again=True)
    before = monitor.standing().period
    for number, batch in enumerate(batches):
        with contextlib.suppress(InputError, msgspec.ValidationError):
            told = [msgspec.convert({**each, "id": f"{before} {each['id']}"}, Feedback) for each in batch]
            added = monitor.add(told)
            assert added.records == len(batch), number
    standing = monitor.standing()
    for stream in STREAMS:
        assert getattr(standing, stream).count <= 3
        assert [point.count for point in monitor.history(stream)] == list(range(1, getattr(standing, stream).count + 1))
    assert standing.complete <= 3
