"""TREC runs and qrels as they come: separators, compression, notation, ids; and what is refused."""

import bz2
import gzip
import os

import numpy as np
import pytest
import zstandard

from surecut import InputError, read_trec
from surecut.io.trec import read_qrels, read_run

LINES = (
    "q1 Q0 a 1 3.5 bm25",
    "q1 Q0 b 2 2.5 bm25",
    "q2 Q0 a 1 -1.5 bm25",
    "q2 Q0 c 2 -2.5 bm25",
)
ROWS = [("q1", "a", 3.5), ("q1", "b", 2.5), ("q2", "a", -1.5), ("q2", "c", -2.5)]
PLAIN = "\n".join(LINES) + "\n"


# A line that the fast reader takes for six good columns although it has seven.
@pytest.fixture
def run(tmp_path):
    """Write a file and read it as a run: rows of (query, document, score)."""

    def read(content, name="some.run"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_run(path).rows()

    return read


@pytest.fixture
def qrels(tmp_path):
    """Write a file and read it as judgements."""

    def read(content):
        path = tmp_path / "some.qrels"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_qrels(path).rows()

    return read


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(PLAIN.replace(" ", "\t"), id="tabs"),
        pytest.param(PLAIN.replace(" ", "   "), id="repeated-spaces"),
        pytest.param(PLAIN.replace(" ", "\t\t"), id="repeated-tabs"),
        pytest.param(PLAIN.replace(" ", " \t "), id="mixed-within-lines"),
        pytest.param(PLAIN.replace(LINES[2], LINES[2].replace(" ", "\t")), id="one-line-with-tabs"),
        pytest.param(PLAIN.replace(LINES[1], LINES[1].replace(" Q0", "\tQ0")), id="one-tab"),
        pytest.param(PLAIN.replace("q1", "  q1"), id="leading-spaces"),
        pytest.param(PLAIN.replace("bm25\n", "bm25  \n"), id="trailing-spaces"),
        pytest.param(PLAIN.replace("bm25\n", "bm25\t\n"), id="trailing-tab"),
        pytest.param(PLAIN.replace("\n", "\r\n"), id="crlf"),
        pytest.param(PLAIN.replace("\n", "\r\n").replace(" ", "\t"), id="crlf-tabs"),
        pytest.param("\n" + PLAIN.replace("\n", "\n\n") + "\n", id="blank-lines"),
        pytest.param(PLAIN.replace("\n", "\n   \n"), id="lines-of-spaces"),
        pytest.param(PLAIN.rstrip("\n"), id="no-final-newline"),
        pytest.param("\ufeff" + PLAIN, id="byte-order-mark"),
        pytest.param(PLAIN.replace(" 2 ", " 77 ").replace(" 1 ", " x "), id="wrong-rank-column"),
        pytest.param(
            PLAIN.replace(LINES[2], LINES[2].replace("q2 ", "q2  ")),
            id="one-line-with-two-spaces",
        ),
    ],
)
def test_white_space_and_ranks_make_no_difference(run, content):
    assert run(content) == ROWS


@pytest.mark.parametrize(
    ("name", "compress"),
    [("a.gz", gzip.compress), ("a.zst", zstandard.ZstdCompressor().compress), ("a.bz2", bz2.compress)],
    ids=["gzip", "zstd", "bz2"],
)
def test_compressed_files_are_recognised_by_content(run, name, compress):
    assert run(compress(PLAIN.encode()), name) == ROWS
    assert run(compress(PLAIN.encode()), "no-suffix") == ROWS


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="needs /dev/fd")
def test_a_pipe_of_the_shell_reads_like_a_file():
    reading, writing = os.pipe()
    os.write(writing, PLAIN.encode())
    os.close(writing)
    try:
        assert read_run(f"/dev/fd/{reading}").rows() == ROWS  # what <(zcat some.run.gz) gives
    finally:
        os.close(reading)


@pytest.mark.parametrize("tag", ['"quoted', "it's", "naïve-模型", "a,b;c", "#1", "[x]"])
def test_any_tag_goes(run, tag):
    assert run(PLAIN.replace("bm25", tag)) == ROWS


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("+1.5E+2", 150.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("7", 7.0),
        ("-3", -3.0),
        ("-0.0", 0.0),
        ("0000.25", 0.25),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("123456789.123456789", 123456789.123456789),
    ],
)
def test_scores_in_any_notation(run, text, value):
    assert run(f"q Q0 d 1 {text} tag\n") == [("q", "d", value)]
    assert run(f"q  Q0 d 1 {text} tag\n") == [("q", "d", value)]


@pytest.mark.parametrize("identifier", ["007", "1e5", "-1", "NaN", "null", "d'1\"", "naïve", "文書", "\U0001d11e"])
def test_ids_are_kept_exactly(run, qrels, identifier):
    assert run(f"{identifier} Q0 {identifier} 1 2.0 t\n") == [(identifier, identifier, 2.0)]
    assert run(f"{identifier}\tQ0  {identifier} 1 2.0 t\n") == [(identifier, identifier, 2.0)]
    assert qrels(f"{identifier} 0 {identifier} 1\n") == [(identifier, identifier, 1)]


def rising(ranks, queries=3, separator=" "):
    """Scores that rise down every list, as distances do."""
    lines = [f"q{query} Q0 d{place} {ranks(place)} {0.5 + place} t" for query in range(queries) for place in range(10)]
    return "\n".join(line.replace(" ", separator) for line in lines)


@pytest.mark.parametrize("separator", [" ", "  "])
def test_scores_that_rise_with_the_rank_are_refused(run, separator):
    with pytest.raises(InputError, match=r"as distances do: .* with a minus sign"):
        run(rising(lambda place: place + 1, separator=separator))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(rising(lambda place: 10 - place), id="worst-first"),
        pytest.param(rising(lambda place: 1), id="all-the-same-rank"),
        pytest.param(rising(lambda place: "x"), id="no-rank"),
        pytest.param(rising(lambda place: place, queries=2), id="too-few-to-say"),
        pytest.param(rising(lambda place: place) + "\nq2 Q0 last 11 0.1 t", id="one-that-falls"),
    ],
)
def test_scores_that_rise_down_the_file_alone_are_not(run, content):
    assert len(run(content)) >= 20


def test_the_order_of_lines_leaves_no_trace(tmp_path):
    paths = tmp_path / "one.run", tmp_path / "other.run"
    judged = tmp_path / "qrels"
    judged.write_text("q1 0 a 1\nq2 0 c 2\n")
    for path, lines in zip(paths, (LINES, (LINES[3], LINES[0], LINES[2], LINES[1])), strict=True):
        path.write_text("\n".join(lines))
    one, other = (read_trec(path, path, judged) for path in paths)
    assert one.fingerprint() == other.fingerprint()
    assert one.select(["q1"]).doc_ids.to_list() == other.select(["q1"]).doc_ids.to_list()


def test_equal_scores_go_by_document_id_descending(tmp_path):
    path = tmp_path / "tied.run"
    documents = ["10", "9", "B", "a", "é", "\uffee", "\U0001d11e"]
    path.write_text("".join(f"q Q0 {d} {i} 1.0 t\n" for i, d in enumerate(documents)), encoding="utf-8")
    ordered = read_trec(path).doc_ids.to_list()
    assert ordered == sorted(documents, key=str.encode, reverse=True)
    assert ordered[0] == "\U0001d11e"  # first by UTF-8 bytes, not by UTF-16 units


def test_scores_that_differ_only_beyond_32_bits_are_ties(tmp_path):
    path = tmp_path / "close.run"
    path.write_text("q Q0 a 1 16777217.0 t\nq Q0 b 2 16777216.0 t\n")
    data = read_trec(path)
    assert data.doc_ids.to_list() == ["b", "a"]
    assert np.unique(data.retriever).size == 1


@pytest.mark.parametrize(
    "content",
    [
        "q1 0 a 1\nq1 0 b -1\nq2 0 c 2\n",
        "q1\t0\ta\t1\nq1\t0\tb\t-1\nq2\t0\tc\t2\n",
        "q1 0 a 1\r\nq1 \t0 b -1\r\nq2 Q0 c 2.0",
        "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t-1\nq2\tc\t2\n",
        "query-id\tcorpus-id\tscore\r\nq1\ta\t1\r\nq1\tb\t-1\r\nq2\tc\t2",
        "query-id corpus-id score\nq1 a  1\nq1 b -1\n\nq2 c 2\n",
        "query_id\tcorpus_id\tscore\nq1\ta\t1\nq1\tb\t-1\nq2\tc\t2\n",
    ],
    ids=["spaces", "tabs", "mixed-crlf", "beir", "beir-crlf", "beir-spaces", "beir-underscores"],
)
def test_judgements_in_trec_and_beir_form(qrels, content):
    assert qrels(content) == [("q1", "a", 1), ("q1", "b", -1), ("q2", "c", 2)]


def test_a_run_without_scores_is_told_what_to_do(run):
    with pytest.raises(InputError, match=r"some\.run, line 1: three columns.*no scores.*MS MARCO.*TREC format"):
        run("q1\ta\t1\nq1\tb\t2\n")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("q1 Q0 c 3 1.0", "line 3: 5 columns where 6"),
        ("q1", "line 3: 1 columns where 6"),
        ("q1 Q0 c 3 1.0 my tag", "line 3: 7 columns where 6"),
        ("q1 Q0 c 3 high tag", "line 3: the score is not a finite number: 'high'"),
        ("q1 Q0 c 3 nan tag", "line 3: the score is not a finite number: 'nan'"),
        ("q1 Q0 c 3 -inf tag", "line 3: the score is not a finite number: '-inf'"),
        ("q1 Q0 c 3 1e999 tag", "line 3: the score is not a finite number: '1e999'"),
    ],
)
def test_the_first_wrong_line_of_a_run_is_named(run, line, complaint):
    with pytest.raises(InputError, match=rf"some\.run, {complaint}"):
        run("\n".join((*LINES[:2], line, *LINES[2:])))


def test_blank_lines_count_when_a_line_is_named(run):
    with pytest.raises(InputError, match="line 4: 2 columns"):
        run(f"{LINES[0]}\n\n\nq1 Q0\n")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("q1 0 c", "line 2: 3 columns where 4"),
        ("q1 0 c x", "line 2: the grade is not a whole number: 'x'"),
        ("q1 0 c 0.5", "line 2: the grade is not a whole number: '0.5'"),
        ("q1 0 c 1 1", "line 2: 5 columns where 4"),
        ("q1 0 c 1e30", "line 2: the grade"),
    ],
)
def test_the_first_wrong_line_of_the_judgements_is_named(qrels, line, complaint):
    with pytest.raises(InputError, match=rf"some\.qrels, {complaint}"):
        qrels(f"q1 0 a 1\n{line}\n")


@pytest.mark.parametrize("content", ["", "\n\n", "  \n"])
def test_empty_files_are_refused(run, qrels, content):
    with pytest.raises(InputError, match=r"some\.run: no lines; a run has lines like"):
        run(content)
    with pytest.raises(InputError, match=r"some\.qrels: no lines; judgements are lines like"):
        qrels(content)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.run: No such file"):
        read_run(tmp_path / "nowhere.run")
    with pytest.raises(InputError, match="Is a directory"):
        read_qrels(tmp_path)


def test_a_truncated_bz2_file_is_an_input_error(run):
    with pytest.raises(InputError, match=r"cut\.bz2"):
        run(bz2.compress(PLAIN.encode())[:-20], "cut.bz2")


def test_a_truncated_gzip_file_is_an_input_error(run):
    with pytest.raises(InputError, match=r"cut\.gz"):
        run(gzip.compress(PLAIN.encode())[:-20], "cut.gz")


@pytest.mark.parametrize(
    "content",
    [PLAIN.replace("b", "\xff").encode("latin-1"), PLAIN.encode("utf-16"), b"\x00\x1f\xfe\x80" * 100, b"a\x1fb\n"],
    ids=["latin-1", "utf-16", "garbage", "unit-separator"],
)
def test_what_is_no_utf8_text_is_an_input_error(run, content):
    with pytest.raises(InputError, match=r"some\.run"):
        run(content)
