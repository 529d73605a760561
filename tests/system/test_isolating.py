"""A text that makes a model fail is found, named, and costs the others nothing."""

import pytest

from surecut import InputError
from surecut.errors import Unscorable
from surecut.system.isolating import Failure, blamed_on_texts, isolate, keep_reasons, read_reasons, spread


def failing_on(*bad, calls=None):
    def compute(places):
        if calls is not None:
            calls.append(places.tolist())
        if wrong := [each for each in bad if each in places]:
            raise Unscorable(f"cannot read {wrong[0]}")
        return [10 * place for place in places.tolist()]

    return compute


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64])
def test_without_a_failure_one_call_does_it(count):
    calls = []
    found = isolate(failing_on(calls=calls), count)
    assert found.made == {place: 10 * place for place in range(count)}
    assert not found.reasons
    assert len(calls) == min(count, 1)


@pytest.mark.parametrize("bad", [(0,), (63,), (5, 6), (3, 17, 40)], ids=str)
def test_the_ones_that_fail_are_found_and_the_others_computed(bad):
    found = isolate(failing_on(*bad), 64)
    assert found.reasons == {place: f"cannot read {place}" for place in bad}
    assert found.made == {place: 10 * place for place in range(64) if place not in bad}


def test_what_fails_once_is_tried_again():
    calls = []

    def compute(places):
        calls.append(places.size)
        if len(calls) == 1:
            raise Unscorable("out of memory")
        return places.tolist()

    assert isolate(compute, 5).made == {place: place for place in range(5)}
    assert calls == [5, 5]


def test_it_always_divides_alike():
    """Scores of a model may depend on the batch in their last bits: the batches must not depend on anything."""
    one, other = [], []
    isolate(failing_on(3, 20, calls=one), 33)
    isolate(failing_on(3, 20, calls=other), 33)
    assert one == other
    assert one[0] == list(range(33))


def test_where_everything_fails_each_has_its_reason():
    found = isolate(failing_on(*range(8)), 8)
    assert not found.made
    assert found.reasons == {place: f"cannot read {place}" for place in range(8)}


def test_what_is_tried_again_has_new_reasons(tmp_path):
    keep_reasons(tmp_path, range(8), {3: "gave nan", 5: "gave nan"})
    keep_reasons(tmp_path, range(8, 16), {9: "too long"})
    keep_reasons(tmp_path, range(8), {5: "too long"})
    assert read_reasons(tmp_path) == {5: "too long", 9: "too long"}


def test_other_errors_are_not_swallowed():
    def compute(places):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        isolate(compute, 3)


@pytest.mark.parametrize(
    "error",
    [ConnectionResetError(104, "Connection reset by peer"), TimeoutError("read timed out"), OSError(), MemoryError()],
    ids=repr,
)
def test_what_a_stage_or_a_service_says_is_about_what_it_was_given(error):
    with pytest.raises(Unscorable, match=f"^{type(error).__name__}: "), blamed_on_texts():
        raise error


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), FileNotFoundError(2, "No such file", "model.onnx"), InputError("no")],
    ids=repr,
)
def test_what_is_said_of_a_disk_or_a_file_is_not(error):
    with pytest.raises(type(error)) as raised, blamed_on_texts():
        raise error
    assert raised.value is error


@pytest.mark.parametrize(("count", "most"), [(1, 16), (3, 16), (16, 16), (1000, 16), (1000, 4)])
def test_some_places_from_all_over(count, most):
    places = spread(count, most)
    assert (places[0], places[-1]) == (0, count - 1)
    assert places == sorted(set(places))
    assert len(places) == min(count, most)


def test_a_failure_reads_as_a_sentence():
    assert str(Failure("q1", "d2", "gave nan")) == "query 'q1', document 'd2': gave nan"
    assert str(Failure(None, "d2", "gave nan")) == "document 'd2': gave nan"
    assert str(Failure("q1", None, "first line\n  second\tline")) == "query 'q1': first line second line"
    assert Failure("q1", None, "no").to_json() == {"query_id": "q1", "doc_id": None, "reason": "no"}
