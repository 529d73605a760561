"""Blocks of documents: all of them, none so short that its texts alone may be to blame for a failure."""

import pytest

from surecut.errors import Unscorable
from surecut.system.blocks import blocks_of, keep_failed
from surecut.system.isolating import read_reasons
from tests.system.making import store


@pytest.mark.parametrize("count", [0, 1, 8, 9, 63, 64, 65, 72, 73, 128, 136, 137, 300])
def test_they_are_all_documents_and_none_but_a_small_collection_is_short(monkeypatch, count):
    monkeypatch.setattr("surecut.system.blocks._SIZE", 64)
    blocks = blocks_of(count)
    assert [number for block in blocks for number in block] == list(range(count))
    assert all(min(9, count) <= len(block) <= 64 + 8 for block in blocks)


def test_a_whole_block_that_fails_is_not_the_texts(tmp_path):
    documents = store(tmp_path / "s", [f"text {number}" for number in range(20)])
    keep_failed(tmp_path, range(10), dict.fromkeys(range(1, 10), "gave nan"), documents)
    with pytest.raises(Unscorable, match="documents 'd10' to 'd19': gave nan"):
        keep_failed(tmp_path, range(10, 20), dict.fromkeys(range(10, 20), "gave nan"), documents)
    assert read_reasons(tmp_path) == dict.fromkeys(range(1, 10), "gave nan")
