"""Text stores: what goes in comes out, from mapped files."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surecut import InputError
from surecut.system.cache import built
from surecut.system.texts import Document, TextStore, title_and_text, write_store
from tests.system.making import store

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=20, unique_by=lambda pair: pair[0]))
def test_any_unicode_survives(texts, tmp_path_factory):
    kept = store(tmp_path_factory.mktemp("store"), texts)
    assert len(kept) == len(texts)
    assert [(kept.ids[place], kept.texts[place]) for place in range(len(kept))] == texts


@pytest.mark.parametrize("documents", [["", "a", ""], ["", ""], ["a", ""]])
def test_empty_texts_are_kept(tmp_path, documents):
    assert store(tmp_path, documents).texts.take(range(len(documents))) == documents


def test_more_documents_than_a_buffer_holds(tmp_path):
    kept = store(tmp_path, [str(number) for number in range(16_384 * 2 + 3)])
    assert [kept.texts[place] for place in (0, 16_383, 16_384, 32_768, 32_770)] == [
        "0",
        "16383",
        "16384",
        "32768",
        "32770",
    ]


def test_texts_are_mapped_not_read(tmp_path):
    kept = store(tmp_path, ["one", "two"])
    assert isinstance(kept.texts._bytes, np.memmap)
    assert isinstance(kept.texts.ends, np.memmap)
    assert isinstance(kept.tie_order, np.memmap)


@settings(max_examples=40, deadline=None)
@given(ids=st.lists(ANY_TEXT, min_size=1, max_size=20, unique=True))
def test_the_tie_order_is_the_byte_order_of_the_ids(ids, tmp_path_factory):
    kept = store(tmp_path_factory.mktemp("store"), [(each, "") for each in ids])
    in_order = sorted(range(len(ids)), key=lambda place: ids[place].encode())
    assert np.argsort(kept.tie_order).tolist() == in_order


def test_ids_are_found_by_number_and_strange_ones_are_not(tmp_path):
    kept = store(tmp_path, [("b", ""), ("é", ""), ("007", "")])
    assert kept.numbers(pl.Series(["é", "nobody", "007", "b", "7", "é"])).tolist() == [1, -1, 2, 0, -1, 1]


def test_a_repeated_id_is_refused_with_both_places(tmp_path):
    with pytest.raises(InputError, match=r"here: documents 2 and 4 have the same id 'x'; ids must be unique"):
        write_store([Document(each, "") for each in ("a", "x", "b", "x", "c")], tmp_path, "here")
    assert not (tmp_path / "store.json").exists()


def test_a_collection_of_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match="here: no documents"):
        write_store([], tmp_path, "here")


def test_the_fingerprint_tells_collections_apart(tmp_path):
    def fingerprint(name, *documents):
        return store(tmp_path / name, list(documents)).fingerprint

    first = fingerprint("one", ("a", "bc"), ("d", ""))
    assert fingerprint("again", ("a", "bc"), ("d", "")) == first
    assert len({first, fingerprint("two", ("ab", "c"), ("d", "")), fingerprint("three", ("d", ""), ("a", "bc"))}) == 3


def test_an_interrupted_build_is_done_again(tmp_path, cache):
    def interrupted():
        yield Document("a", "first")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built("documents", "key", lambda folder: write_store(interrupted(), folder, "here"))
    folder = built("documents", "key", lambda folder: write_store([Document("b", "whole")], folder, "here"))
    assert (cache / "documents" / "key") == folder
    assert TextStore(folder).ids.take([0]) == ["b"]
    assert json.loads((folder / "store.json").read_text())["documents"] == 1


def test_a_title_comes_before_the_text():
    assert title_and_text("Title", " text ") == "Title  text"
    assert title_and_text("", " text\n") == "text"
    assert title_and_text("Title", "") == "Title"
