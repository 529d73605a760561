"""A table that grows: blocks, then parts, then a whole table; another plan is another table."""

import json

import polars as pl
import pytest

from surecut import InputError, read_table
from surecut.system.growing import GrowingTable
from surecut.system.isolating import Failure

PLAN = {"depth": 4, "retriever": "one", "reranker": "two"}
LIBRARIES = {"bm25s": "0.2.14"}


def rows(block, depth=4):
    """What a block of queries would give."""
    numbers = [(query, place) for query in range(block.start, block.end) for place in range(depth)]
    return pl.DataFrame(
        {
            "query_id": [f"q{query:02d}" for query, _ in numbers],
            "doc_id": [f"d{depth - place}" for _, place in numbers],
            "retriever": pl.Series([float(-place) for _, place in numbers], dtype=pl.Float32),
            "reranker": [float(query + place) for query, place in numbers],
        }
    )


@pytest.fixture
def table(tmp_path):
    return lambda plan=PLAN, queries=23, block_pairs=20, libraries=LIBRARIES: GrowingTable(
        tmp_path / "t", plan, queries, 4, block_pairs, libraries
    )


def filled(table):
    table.open()
    for block in table.missing():
        table.write(block, rows(block))
    table.gather()
    table.finish(None, {"name": "grown"})


@pytest.mark.parametrize(("pairs", "sizes"), [(20, [5, 5, 5, 5, 3]), (1, [1] * 23), (1000, [23])])
def test_blocks_hold_every_query_once(table, pairs, sizes):
    blocks = table(block_pairs=pairs).blocks
    assert [block.end - block.start for block in blocks] == sizes
    assert [block.start for block in blocks] == [sum(sizes[:place]) for place in range(len(sizes))]


def test_blocks_searched_together_are_all_blocks_whatever_is_missing(table, monkeypatch):
    monkeypatch.setattr("surecut.system.growing._QUERIES_PER_SEARCH", 10)
    growing = table()
    before = growing.groups()
    assert before == [range(10), range(10), range(10, 20), range(10, 20), range(20, 23)]
    growing.open()
    growing.write(growing.blocks[1], rows(growing.blocks[1]))
    assert growing.groups() == before


@pytest.mark.parametrize("rows_per_part", [1_000_000, 40, 1])
def test_parts_hold_what_the_blocks_held(table, tmp_path, monkeypatch, rows_per_part):
    monkeypatch.setattr("surecut.system.growing._ROWS_PER_PART", rows_per_part)
    filled(table())
    parts = sorted((tmp_path / "t" / "candidates").iterdir())
    assert len(parts) == {1_000_000: 1, 40: 3, 1: 5}[rows_per_part]
    whole = pl.concat([rows(block) for block in table().blocks])
    assert pl.concat([pl.read_parquet(part) for part in parts]).equals(whole)
    assert len(read_table(tmp_path / "t")) == 23


def test_a_part_is_made_once_all_its_blocks_are_there(table, tmp_path, monkeypatch):
    monkeypatch.setattr("surecut.system.growing._ROWS_PER_PART", 40)
    growing = table()
    growing.open()
    for number in (0, 1, 2):
        growing.write(growing.blocks[number], rows(growing.blocks[number]))
    growing.gather()
    assert [each.name for each in (tmp_path / "t" / "candidates").iterdir()] == ["part-00000.parquet"]
    assert [each.name for each in (tmp_path / "t" / "blocks").iterdir()] == ["block-0000002.parquet"]
    assert [block.number for block in table().missing()] == [3, 4]


def test_only_a_whole_table_is_read(table, tmp_path):
    growing = table()
    growing.open()
    for block in growing.missing():
        growing.write(block, rows(block))
        with pytest.raises(InputError, match="not finished; run surecut score again"):
            read_table(tmp_path / "t")
    growing.gather()
    with pytest.raises(InputError, match="not finished"):
        read_table(tmp_path / "t")
    growing.finish(None, {})
    assert len(read_table(tmp_path / "t")) == 23
    assert sorted(each.name for each in (tmp_path / "t").iterdir()) == ["candidates", "meta.json"]


@pytest.mark.parametrize("whole", [True, False])
def test_another_plan_is_refused_with_what_differs(table, whole):
    if whole:
        filled(table())
    else:
        begun = table()
        begun.open()
        begun.write(begun.blocks[0], rows(begun.blocks[0]))
    table().open()
    with pytest.raises(InputError, match="was begun with another depth and reranker; name another folder with -o"):
        table({**PLAN, "depth": 5, "reranker": "three"}).open()


@pytest.mark.parametrize("finished", [False, True])
def test_a_table_of_other_origin_is_refused(table, tmp_path, finished):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "candidates.parquet").touch()
    if finished:
        (tmp_path / "t" / "meta.json").write_text('{"depth": 4, "fingerprints": {}}')
    with pytest.raises(InputError, match="holds a score table that surecut score did not make"):
        table().open()


@pytest.mark.parametrize("name", ["meta.json", "unfinished.json"])
@pytest.mark.parametrize("content", ["{", "[1]", "null"])
def test_a_broken_plan_is_named(table, tmp_path, name, content):
    (tmp_path / "t" / "blocks").mkdir(parents=True)
    (tmp_path / "t" / "blocks" / "block-0000000.parquet").touch()
    (tmp_path / "t" / name).write_text(content)
    with pytest.raises(InputError, match=rf"{name}: damaged"):
        table().open()


def test_meta_holds_the_plan_and_what_it_is_given(table, tmp_path):
    filled(table())
    assert json.loads((tmp_path / "t" / "meta.json").read_text()) == {
        "name": "grown",
        "parts": 1,
        "plan": PLAN,
        "layout": {"queries_per_block": 5, "blocks_per_part": 50_000},
        "libraries": LIBRARIES,
    }


def test_a_table_goes_on_in_the_blocks_it_was_begun_with(table, tmp_path):
    begun = table()
    begun.open()
    begun.write(begun.blocks[1], rows(begun.blocks[1]))
    filled(table(block_pairs=8))
    assert len(read_table(tmp_path / "t")) == 23
    assert read_table(tmp_path / "t").query_ids.tolist() == [f"q{query:02d}" for query in range(23)]


@pytest.mark.parametrize("layout", [None, {}, {"queries_per_block": 0, "blocks_per_part": 1}])
def test_a_broken_layout_is_named(table, tmp_path, layout):
    begun = table()
    begun.open()
    begun.write(begun.blocks[0], rows(begun.blocks[0]))
    (tmp_path / "t" / "unfinished.json").write_text(json.dumps({"plan": PLAN, "layout": layout}))
    with pytest.raises(InputError, match=r"unfinished\.json: damaged"):
        table().open()


def test_a_folder_in_which_nothing_was_scored_may_be_taken(table, tmp_path):
    table().open()
    filled(table({**PLAN, "reranker": "three"}))
    assert json.loads((tmp_path / "t" / "meta.json").read_text())["plan"]["reranker"] == "three"


def test_blocks_come_in_any_order_and_make_a_part_with_the_last_of_it(table, tmp_path, monkeypatch):
    monkeypatch.setattr("surecut.system.growing._ROWS_PER_PART", 40)  # blocks 0 1, 2 3, 4
    growing, made = table(), []
    growing.open()
    for number in (3, 0, 4, 1, 2):
        growing.write(growing.blocks[number], rows(growing.blocks[number]))
        made.append(sorted(each.stem for each in (tmp_path / "t").glob("candidates/*.parquet")))
    assert made == [
        [],
        [],
        ["part-00002"],
        ["part-00000", "part-00002"],
        ["part-00000", "part-00001", "part-00002"],
    ]


def test_what_failed_is_kept_beside_its_part_until_that_is_made_anew(table, tmp_path, monkeypatch):
    monkeypatch.setattr("surecut.system.growing._ROWS_PER_PART", 40)
    failed = {1: Failure("q05", "d4", "gave nan"), 4: Failure("q21", None, "no vector")}
    growing = table()
    growing.open()
    for block in growing.missing():
        growing.write(block, rows(block), [failed[block.number]] if block.number in failed else [])
    growing.finish(None, {})
    assert table().failures() == [failed[1], failed[4]]
    (tmp_path / "t" / "candidates" / "part-00000.parquet").unlink()
    again = table()
    again.open()
    for block in again.missing():
        again.write(block, rows(block))
    again.finish(None, {})
    assert table().failures() == [failed[4]]
    assert not list((tmp_path / "t").glob("candidates/part-00000.failed.json"))


@pytest.mark.parametrize("finished", [False, True])
def test_scores_of_two_versions_of_a_library_are_not_mixed(table, tmp_path, finished):
    newer = {"bm25s": "0.3.0"}
    filled(table()) if finished else table().open()
    if finished:
        (tmp_path / "t" / "candidates" / "part-00000.parquet").unlink()
    else:
        growing = table()
        growing.write(growing.blocks[0], rows(growing.blocks[0]))
    with pytest.raises(InputError, match=r"was begun with bm25s 0\.2\.14, and here is bm25s 0\.3\.0, which may give"):
        table(libraries=newer).open()
    table().open()


def test_a_whole_table_says_what_made_it_whoever_describes_it_anew(table, tmp_path):
    filled(table())
    again = table(libraries={"bm25s": "0.3.0"})
    again.open()
    again.finish(None, {"name": "renamed"})
    assert json.loads((tmp_path / "t" / "meta.json").read_text())["libraries"] == LIBRARIES
