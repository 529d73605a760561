"""Collections of every kind: the same documents, queries and judgements, and one sentence for what is wrong."""

import json
import shutil
import zipfile

import ir_datasets
import polars as pl
import pytest

from surecut import InputError
from surecut.system.sources import Beir, Files, IrDataset
from surecut.system.texts import Document
from tests.system.making import write_lines, zipped

CORPUS = [{"_id": "d1", "title": "One", "text": "alpha"}, {"_id": "d2", "title": "", "text": "beta ü"}]
QUERIES = [{"_id": "q1", "text": "alpha?"}, {"_id": "q2", "text": "beta?"}]


@pytest.fixture
def folder(tmp_path):
    """A BEIR folder with two splits."""
    root = tmp_path / "small"
    (root / "qrels").mkdir(parents=True)
    write_lines(root / "corpus.jsonl", CORPUS)
    write_lines(root / "queries.jsonl", QUERIES)
    for split, row in (("test", "q1\td1\t1"), ("dev", "q2\td2\t2")):
        (root / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{row}\n")
    return root


def contents(source):
    qrels = source.qrels()
    return list(source.documents()), list(source.queries()), None if qrels is None else qrels.rows()


def test_a_beir_folder_and_its_zip_are_the_same(folder, tmp_path):
    found = contents(Beir(folder))
    assert found == (
        [Document("d1", "One alpha"), Document("d2", "beta ü")],
        [Document("q1", "alpha?"), Document("q2", "beta?")],
        [("q1", "d1", 1)],
    )
    assert contents(Beir(zipped(folder, tmp_path / "small.zip"))) == found


def test_files_at_the_top_of_a_zip_are_found(folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "flat.zip", "w") as archive:
        for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
            archive.write(folder / name, name)
    assert contents(Beir(tmp_path / "flat.zip")) == contents(Beir(folder))


def test_several_splits_are_joined(folder):
    assert Beir(folder, ["dev", "test"]).qrels().rows() == [("q2", "d2", 2), ("q1", "d1", 1)]


def test_jsonl_and_parquet_files_are_the_same_collection(folder, tmp_path):
    pl.DataFrame(CORPUS).write_parquet(tmp_path / "docs.parquet")
    pl.DataFrame(QUERIES).write_parquet(tmp_path / "queries.parquet")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    lines = Files(folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "test.tsv")
    parquet = Files(tmp_path / "docs.parquet", tmp_path / "queries.parquet", tmp_path / "qrels.txt")
    assert contents(lines) == contents(parquet) == contents(Beir(folder))
    assert Files(folder / "corpus.jsonl", folder / "queries.jsonl").qrels() is None


def test_a_changed_file_has_another_identity(folder, tmp_path):
    before = Beir(folder).identity()
    assert Beir(folder).identity() == before
    write_lines(folder / "corpus.jsonl", [*CORPUS, {"_id": "d3", "text": "new"}])
    assert Beir(folder).identity() != before
    shutil.copytree(folder, tmp_path / "elsewhere")
    assert Beir(tmp_path / "elsewhere").identity() != Beir(folder).identity()


def spoil(name, content):
    def change(folder):
        (folder / name).write_bytes(content)

    return change


def remove(name):
    return lambda folder: (folder / name).unlink()


SPOILT = {
    "malformed line": (
        spoil("corpus.jsonl", b'{"_id": "d1", "text": "x"}\n{"_id"'),
        r"corpus\.jsonl, line 2: not JSON",
    ),
    "malformed query": (spoil("queries.jsonl", b"\n{]\n"), r"queries\.jsonl, line 2: not JSON"),
    "no id": (spoil("corpus.jsonl", b'{"text": "x"}\n'), r"corpus\.jsonl, line 1: no id"),
    "no text": (spoil("corpus.jsonl", b'{"_id": "d1"}\n'), r"corpus\.jsonl, line 1: 'd1' has no text"),
    "not UTF-8": (
        spoil("corpus.jsonl", b'{"_id": "d1", "text": "\xe9"}\n'),
        r"corpus\.jsonl, line 1: not UTF-8",
    ),
    "qrels columns": (spoil("qrels/test.tsv", b"q1 d1\n"), r"qrels/test\.tsv, line 1: 2 columns"),
    "qrels grade": (spoil("qrels/test.tsv", b"q1 0 d1 good\n"), r"qrels/test\.tsv, line 1: .*'good'"),
    "no corpus": (remove("corpus.jsonl"), r"small(\.zip)?: no corpus\.jsonl in it"),
    "no queries": (remove("queries.jsonl"), r"small(\.zip)?: no queries\.jsonl in it"),
    "no split": (remove("qrels/test.tsv"), r"small(\.zip)?: no qrels/test\.tsv in it"),
}


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(("change", "said"), SPOILT.values(), ids=SPOILT)
def test_a_spoilt_collection_is_one_sentence(folder, tmp_path, form, change, said):
    change(folder)
    source = Beir(zipped(folder, tmp_path / "small.zip") if form == "zip" else folder)
    with pytest.raises(InputError, match=said):
        contents(source)


def test_what_is_no_collection_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        contents(Beir(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"nowhere/corpus\.jsonl: no such file"):
        Beir(tmp_path / "nowhere").identity()
    (tmp_path / "bad.zip").write_bytes(b"PK no zip at all")
    with pytest.raises(InputError, match=r"bad\.zip: File is not a zip file"):
        contents(Beir(tmp_path / "bad.zip"))


@pytest.mark.parametrize("member", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_zip_with_a_spoilt_member_is_named(folder, tmp_path, member):
    path = tmp_path / "small.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
            archive.write(folder / name, name)
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo(member).header_offset + 30 + len(member)
    content = bytearray(path.read_bytes())
    content[start + 12] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"small\.zip"):
        contents(Beir(path))


@pytest.fixture
def registered(tmp_path):
    """A data set in the real registry of ir_datasets, gone after the test."""
    (tmp_path / "docs.tsv").write_text("d1\talpha one\nd2\tbeta\n")
    (tmp_path / "queries.tsv").write_text("q1\talpha?\n")
    (tmp_path / "qrels").write_text("q1 0 d2 1\n")
    parts = {
        "docs_tsv": tmp_path / "docs.tsv",
        "queries_tsv": tmp_path / "queries.tsv",
        "qrels_trec": tmp_path / "qrels",
    }
    names = []

    def register(*wanted):
        names.append(f"surecut-{len(names)}")
        given = {part: str(parts[part]) for part in wanted or parts}
        ir_datasets.registry.register(names[-1], ir_datasets.create_dataset(**given))
        return IrDataset(names[-1])

    yield register
    for name in names:
        del ir_datasets.registry._registered[name]


def test_ir_datasets_are_read(registered):
    source = registered()
    assert contents(source) == (
        [Document("d1", "alpha one"), Document("d2", "beta")],
        [Document("q1", "alpha?")],
        [("q1", "d2", 1)],
    )
    assert json.dumps(source.identity())


def test_an_ir_dataset_without_judgements_has_none(registered):
    assert registered("docs_tsv", "queries_tsv").qrels() is None


def test_an_ir_dataset_without_documents_says_so(registered):
    with pytest.raises(InputError, match=r"data set 'surecut-0' of ir_datasets has no docs"):
        list(registered("queries_tsv").documents())


@pytest.mark.parametrize("part", ["documents", "queries", "qrels"])
def test_an_unknown_ir_dataset_is_refused(part):
    with pytest.raises(InputError, match="ir_datasets knows no data set 'no-such/set'"):
        list(getattr(IrDataset("no-such/set"), part)())


def test_the_identity_of_an_unknown_ir_dataset_is_refused():
    with pytest.raises(InputError, match="ir_datasets knows no data set 'no-such/set'"):
        IrDataset("no-such/set").identity()
