"""Items that end the process which works on them: divided, until what does it is alone."""

import pickle

import pytest

from surecut import InputError
from surecut.errors import NothingGoesThrough
from surecut.runners import attempts
from surecut.runners.attempts import TRIES, WHY, Actor, unwrapped
from surecut.system.isolating import Isolated
from surecut.system.vectors import _Encoder

cloudpickle = pytest.importorskip("ray").cloudpickle


class Deadly:
    """Documents are encoded with their own numbers; some end the process."""

    def __init__(self, *numbers, loads=True):
        self.numbers, self.loads = numbers, loads

    def __call__(self):
        if not self.loads:
            raise SystemExit

        return Encode(self.numbers)

    divided, joined, given_up = _Encoder.divided, _Encoder.joined, _Encoder.given_up


class Encode:
    """What a Deadly worker is when it is ready."""

    def __init__(self, numbers):
        self.numbers = set(numbers)

    def __call__(self, block):
        if self.numbers & set(block):
            raise SystemExit  # nothing that could be caught as an error
        return Isolated({each: each for each in block}, {})

    def alive(self):
        return True


class Breaking(Deadly):
    """Some documents break the device: the process lives on, and nothing goes through in it any more."""

    def __call__(self):
        return Device(self.numbers)


class Device(Encode):
    broken = False

    def __call__(self, block):
        self.broken = self.broken or bool(self.numbers & set(block))
        if not self.alive():
            raise NothingGoesThrough("device-side assert")
        return Isolated({each: each for each in block}, {})

    def alive(self):
        return not self.broken


class Gone(Breaking):
    """A model that never gives anything."""

    def __call__(self):
        ready = Device(())
        ready.broken = True
        return ready


@pytest.fixture
def ends(monkeypatch, tmp_path):
    """Processes that end themselves are not those of the tests."""
    monkeypatch.chdir(tmp_path)

    def end():
        raise SystemExit

    monkeypatch.setattr(attempts, "_end_process", end)


def outlived(worker, block, folder):
    """What is made of a block at last, and how many processes ended before."""
    batch = {"place": [7], "item": [pickle.dumps(block)]}
    for deaths in range(1000):
        try:
            made = Actor(cloudpickle.dumps(worker), str(folder), str(folder))(batch)
        except SystemExit:
            continue
        assert made["place"] == [7]
        return unwrapped(pickle.loads(made["made"][0])), deaths
    raise AssertionError("no end of it")


@pytest.mark.parametrize("bad", [(), (40,), (0, 511), (100, 101, 102)])
def test_only_what_ends_its_process_is_given_up(tmp_path, monkeypatch, bad):
    monkeypatch.chdir(tmp_path)
    found, deaths = outlived(Deadly(*bad), range(512), tmp_path)
    assert found.reasons == dict.fromkeys(bad, WHY)
    assert found.made == {number: number for number in range(512) if number not in bad}
    assert deaths <= len(bad) * (9 + 2 * TRIES)


@pytest.mark.usefixtures("ends")
@pytest.mark.parametrize("bad", [(40,), (0, 511), (100, 101, 102)])
def test_only_what_breaks_the_device_is_given_up(tmp_path, bad):
    found, deaths = outlived(Breaking(*bad), range(512), tmp_path)
    assert found.reasons == dict.fromkeys(bad, WHY)
    assert found.made == {number: number for number in range(512) if number not in bad}
    assert deaths <= len(bad) * (9 + 2 * TRIES)


@pytest.mark.usefixtures("ends")
def test_where_nothing_goes_through_in_a_new_process_either_the_job_ends_with_the_models_words(tmp_path):
    with pytest.raises(InputError, match="device-side assert"):
        outlived(Gone(), range(8), tmp_path)
    assert (tmp_path / "7").read_bytes() == b".."  # one process more


def test_the_notes_of_jobs_that_were_killed_are_removed_and_no_others(tmp_path):
    with attempts.ledger_in(tmp_path) as running:
        (tmp_path / "killed").mkdir()
        (tmp_path / "killed.lock").touch()
        with attempts.ledger_in(tmp_path) as other:
            (other / "0").touch()
            assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {running.name, other.name}
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_alone_has_as_many_tries(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert outlived(Deadly(3), range(3, 4), tmp_path)[1] == TRIES


def test_what_goes_through_after_all_leaves_no_note(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "7").write_bytes(b"..")  # a node that was taken away twice
    found, deaths = outlived(Deadly(), range(8), tmp_path)
    assert (len(found.made), deaths) == (8, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_ends_the_process_as_it_is_loaded_ends_the_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="to load the model or the index ended its worker 3 times: out of memory"):
        outlived(Deadly(loads=False), range(8), tmp_path)


def test_a_model_that_ends_the_process_whatever_it_is_given_ends_the_job(tmp_path, monkeypatch):
    """Long before every item is given up by itself."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="whatever a worker is given ended its worker 3 times"):
        outlived(Deadly(*range(512)), range(512), tmp_path)
    assert outlived(Deadly(*range(16)), range(16), tmp_path)[0].made == {}
