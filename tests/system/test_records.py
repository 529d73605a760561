"""Records: JSON lines and Parquet give the same documents, and what is wrong is named with its line."""

import bz2
import gzip
import json

import polars as pl
import pytest
import zstandard

from surecut import InputError
from surecut.system.records import read_records
from surecut.system.texts import Document

RECORDS = [{"_id": "d1", "title": "A", "text": "one"}, {"_id": "7", "title": None, "text": "zwei\u2028ü"}]
DOCUMENTS = [Document("d1", "A one"), Document("7", "zwei\u2028ü")]


@pytest.fixture
def written(tmp_path):
    """Write the bytes of a .jsonl file."""

    def write(content, name="records.jsonl"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def lines(records, **options):
    return "\n\n".join(json.dumps(record, **options) for record in records)


def test_every_format_gives_the_same_documents(written, tmp_path):
    plain = written(lines(RECORDS, ensure_ascii=False))
    packed = written(gzip.compress(lines(RECORDS).encode()), "records.jsonl.gz")
    pl.DataFrame(RECORDS).write_parquet(tmp_path / "records.parquet")
    for path in (plain, packed, tmp_path / "records.parquet"):
        assert list(read_records(path)) == DOCUMENTS


@pytest.mark.parametrize("name", ["_id", "id", "doc_id", "query_id", "docid", "qid", "pid"])
@pytest.mark.parametrize("text", ["text", "contents", "body", "query", "passage"])
def test_usual_names_of_fields_are_known(written, name, text):
    assert list(read_records(written(json.dumps({name: 12, text: " words "})))) == [Document("12", "words")]


def test_parquet_in_several_slices_keeps_order_and_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("surecut.system.records._ROWS", 3)
    frame = pl.DataFrame({"_id": [f"d{i}" for i in range(8)], "text": ["x"] * 7 + [None]})
    frame.head(7).write_parquet(tmp_path / "good.parquet")
    assert [each.id for each in read_records(tmp_path / "good.parquet")] == [f"d{i}" for i in range(7)]
    frame.write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match=r"bad\.parquet, row 8: 'd7' has no text"):
        list(read_records(tmp_path / "bad.parquet"))


BAD_LINES = {
    "cut short": ('{"_id": "d2", "te', "not JSON"),
    "nested deep": ("[" * 100_000, "not a record; it is nested too deep"),
    "a list": ('["d2", "text"]', "expected an object"),
    "no id": ('{"text": "x"}', "no id .*it has: text"),
    "an empty id": ('{"_id": " ", "text": "x"}', "no id"),
    "an id that is a list": ('{"_id": ["d2"], "text": "x"}', "no id"),
    "an id that is true": ('{"_id": true, "text": "x"}', "no id"),
    "no text": ('{"_id": "d2", "title": "only"}', "'d2' has no text"),
    "a text that is null": ('{"_id": "d2", "text": null}', "'d2' has no text"),
    "a text that is a number": ('{"_id": "d2", "text": 3}', "'d2' has no text"),
    "a title that is a list": ('{"_id": "d2", "text": "x", "title": ["t"]}', "'d2' has no text"),
}


@pytest.mark.parametrize(("line", "said"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_named(written, line, said):
    path = written(f'{{"_id": "d1", "text": "x"}}\n\n{line}\n')
    with pytest.raises(InputError, match=rf"records\.jsonl, line 3: {said}"):
        list(read_records(path))


def test_bytes_that_are_not_text_are_named(written):
    path = written(b'{"_id": "d1", "text": "x"}\n{"_id": "d2", "text": "\xff"}\n')
    with pytest.raises(InputError, match=r"records\.jsonl, line \d: not UTF-8"):
        list(read_records(path))


@pytest.mark.parametrize("content", [b"", b"no parquet at all", b"PAR1 neither PAR1"])
def test_a_broken_parquet_file_is_named(written, content):
    with pytest.raises(InputError, match=r"records\.parquet: not readable as Parquet"):
        list(read_records(written(content, "records.parquet")))


def packed(spoil):
    return spoil(gzip.compress(lines(RECORDS * 2000).encode()))


BAD_PACKED = {
    "truncated": lambda content: content[: len(content) // 2],
    "not gzip": lambda content: b"plain text",
}


@pytest.mark.parametrize("spoil", BAD_PACKED.values(), ids=BAD_PACKED)
def test_a_broken_gz_file_is_named(written, spoil):
    with pytest.raises(InputError, match=r"records\.jsonl\.gz"):
        list(read_records(written(packed(spoil), "records.jsonl.gz")))


def test_a_gz_file_that_is_spoilt_in_the_middle_is_named(written):
    content = packed(lambda whole: whole[:40] + b"\xff" * 20 + whole[60:])
    with pytest.raises(InputError, match=r"records\.jsonl\.gz"):
        list(read_records(written(content, "records.jsonl.gz")))


def test_a_parquet_file_with_a_spoilt_page_is_named(written, tmp_path):
    pl.DataFrame({"_id": [f"d{i}" for i in range(999)], "text": ["x" * 9] * 999}).write_parquet(
        tmp_path / "whole.parquet"
    )
    whole = (tmp_path / "whole.parquet").read_bytes()
    with pytest.raises(InputError, match=r"records\.parquet"):
        list(read_records(written(whole[:4] + b"\xff" * 200 + whole[204:], "records.parquet")))


def test_half_of_a_surrogate_pair_is_named(written):
    with pytest.raises(InputError, match=r"records\.jsonl, line 1"):
        list(read_records(written(r'{"_id": "d1", "text": "\ud83d"}')))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.jsonl: no such file"):
        read_records(tmp_path / "nowhere.jsonl")


def test_a_record_that_is_too_long_is_not_read(written, monkeypatch):
    monkeypatch.setattr("surecut.system.records.LONGEST_RECORD", 100)
    path = written(b'{"_id": "d1", "text": "x"}\n{"_id": "d2", "text": "' + b"x" * 100 + b'"}\n')
    with pytest.raises(InputError, match=r"records\.jsonl, line 2: longer than 100 bytes"):
        list(read_records(path))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstandard.compress])
def test_records_may_be_packed_in_any_way(written, pack):
    assert [each.id for each in read_records(written(pack(b'{"_id": "d1", "text": "x"}\n'), "records.jsonl.packed"))]


def test_a_file_of_parquet_without_ids_and_texts_says_what_it_has(written, tmp_path):
    pl.DataFrame({"number": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"other\.parquet: no column of the ones .* \(it has: number\)"):
        list(read_records(tmp_path / "other.parquet"))
