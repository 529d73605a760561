"""Items that end the process which works on them: divided, until what does it is alone."""

import pickle

import pytest

from surecut import InputError
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

        def encode(block):
            if set(self.numbers) & set(block):
                raise SystemExit  # nothing that could be caught as an error
            return Isolated({each: each for each in block}, {})

        return encode

    divided, joined, given_up = _Encoder.divided, _Encoder.joined, _Encoder.given_up


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
