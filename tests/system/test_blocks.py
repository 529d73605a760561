"""Blocks of documents: all of them, and what is said of one of which nothing goes through."""

import pytest

from surecut.errors import NothingGoesThrough, Unscorable
from surecut.system.blocks import Encoding, blocks_of
from tests.system.making import store


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 128, 300])
def test_they_are_all_documents(monkeypatch, count):
    monkeypatch.setattr("surecut.system.blocks._SIZE", 64)
    blocks = blocks_of(count)
    assert [number for block in blocks for number in block] == list(range(count))
    assert all(1 <= len(block) <= 64 for block in blocks)


def lengths_but(*bad):
    def encode(texts):
        if wrong := [text for text in texts if int(text) in bad]:
            raise Unscorable(f"cannot read {wrong[0]}")
        return [len(text) for text in texts]

    return encode


@pytest.fixture
def documents(tmp_path):
    return store(tmp_path / "s", [str(number) for number in range(20)])


def test_what_is_made_goes_by_the_documents_numbers(documents):
    found = Encoding(lengths_but(12), documents)(range(8, 14))
    assert found.made == {8: 1, 9: 1, 10: 2, 11: 2, 13: 2}
    assert found.reasons == {12: "cannot read 12"}


def test_a_whole_block_of_bad_texts_is_named_where_others_go_through(documents):
    found = Encoding(lengths_but(*range(10, 20)), documents)(range(10, 20))
    assert not found.made
    assert found.reasons == {number: f"cannot read {number}" for number in range(10, 20)}


def test_where_nothing_goes_through_it_is_not_the_texts(documents):
    with pytest.raises(Unscorable, match="goes through any more, since documents 'd10' to 'd19': cannot read 10"):
        Encoding(lengths_but(*range(20)), documents)(range(10, 20))


def test_where_nothing_goes_through_any_more_the_texts_before_are_not_to_blame_either(documents):
    """12 is odd; while it is found, the device goes."""
    calls, sound = [], lengths_but(12)

    def encode(texts):
        calls.append(texts)
        if len(calls) > 4:
            raise Unscorable("device gone")
        return sound(texts)

    with pytest.raises(NothingGoesThrough, match="since documents 'd8' to 'd15'"):
        Encoding(encode, documents)(range(8, 16))
    assert any(len(texts) < 8 for texts in calls[:4]), "it went while there was nothing to find"
