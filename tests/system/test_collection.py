"""A collection: documents on disk, judged queries in a fixed order."""

import pytest

from surecut import InputError
from surecut.system.collection import Collection
from surecut.system.sources import Beir, Files
from tests.system.making import write_lines


@pytest.fixture
def files(tmp_path):
    """A collection of files with the queries given; q1 and q2 are judged unless told otherwise."""
    write_lines(tmp_path / "docs.jsonl", [{"_id": "d1", "text": "alpha"}])
    (tmp_path / "qrels").write_text("q1 0 d1 1\nq2 0 d1 0\n")

    def make(*queries, judged=True, sample=None):
        write_lines(tmp_path / "queries.jsonl", [{"_id": name, "text": text} for name, text in queries])
        return Collection(
            Files(tmp_path / "docs.jsonl", tmp_path / "queries.jsonl", tmp_path / "qrels" if judged else None), sample
        )

    return make


def test_only_judged_queries_are_asked(files):
    asked = (("q1", "one"), ("other", "text"), ("q2", "two"))
    assert sorted(files(*asked).queries.ids) == ["q1", "q2"]
    assert sorted(files(*asked, judged=False).queries.ids) == ["other", "q1", "q2"]


def test_the_order_of_the_queries_is_that_of_their_ids_not_of_the_file(files):
    asked = [(f"q{number}", f"text {number}") for number in range(50)]
    one, other = files(*asked, judged=False).queries, files(*reversed(asked), judged=False).queries
    assert one.ids == other.ids != [name for name, _ in asked]
    assert dict(zip(one.ids, one.texts, strict=True)) == dict(asked)


def test_a_sample_is_the_first_of_that_order(files):
    asked = [(f"q{number}", "text") for number in range(50)]
    whole = files(*asked, judged=False).queries.ids
    assert files(*asked, judged=False, sample=7).queries.ids == whole[:7]
    assert files(*asked, judged=False, sample=99).queries.ids == whole


def test_a_query_twice_is_refused(files):
    with pytest.raises(InputError, match="two queries have the id 'q1'"):
        _ = files(("q1", "one"), ("q1", "again")).queries


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_judged_query_without_text_is_refused_and_an_unjudged_one_is_not_asked(files, text):
    with pytest.raises(InputError, match="query 'q1' has no text"):
        _ = files(("q1", text), ("q2", "two")).queries
    assert files(("other", text), ("q2", "two")).queries.ids == ["q2"]


def test_what_is_wrong_with_a_query_names_the_file_of_queries(files):
    with pytest.raises(InputError, match=r"queries\.jsonl"):
        _ = files(("q1", "one"), ("q1", "again")).queries


def test_judgements_of_other_queries_are_refused(files):
    with pytest.raises(InputError, match="none of the 1 queries is judged; do the ids match"):
        _ = files(("9", "one")).queries


def test_the_store_is_made_once_and_again_when_the_file_changes(files, cache, tmp_path):
    for _ in range(2):
        assert len(files(("q1", "one")).documents) == 1
    assert len(list((cache / "documents").iterdir())) == 1
    write_lines(tmp_path / "docs.jsonl", [{"_id": "d1", "text": "alpha"}, {"_id": "d2", "text": "new"}])
    assert files(("q1", "one")).documents.ids.take([0, 1]) == ["d1", "d2"]
    assert len(list((cache / "documents").iterdir())) == 2


def test_a_repeated_document_names_the_collection(tmp_path, files):
    collection = files(("q1", "one"))
    write_lines(tmp_path / "docs.jsonl", [{"_id": "d1", "text": "alpha"}] * 2)
    with pytest.raises(InputError, match=r"docs\.jsonl: documents 1 and 2 have the same id 'd1'"):
        _ = collection.documents


def test_the_small_collection_has_what_was_written(beir):
    collection = Collection(Beir(beir))
    assert len(collection.queries) == 80
    assert len(collection.documents) == 300
    assert collection.documents.ids[7] == "d7"
