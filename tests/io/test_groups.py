"""Groups of queries, as lines of two columns."""

import pytest

from surecut import InputError
from surecut.io import groups
from surecut.io.groups import read_groups
from surecut.io.limits import LONGEST_LINE


@pytest.fixture
def read(tmp_path):
    """Write a file and read it as groups."""

    def written(content):
        (tmp_path / "g.tsv").write_bytes(content)
        return read_groups(tmp_path / "g.tsv")

    return written


@pytest.mark.parametrize("content", [b"q1 a\nq2 a\nq3 b\n", b"\nq1\ta\r\nq2  a\n\nq1 a\nq3 b", b" q1 a \nq2 a\nq3 b"])
def test_each_query_has_its_group(read, content):
    assert read(content) == {"q1": "a", "q2": "a", "q3": "b"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"q1 a\nq2\n", r"g\.tsv, line 2: 1 columns where 2"),
        (b"q1 a b\n", r"g\.tsv, line 1: 3 columns where 2"),
        (b"q1 a\nq1 b\n", r"g\.tsv, line 2: query 'q1' is in two groups"),
        (b"q1 \xff\n", r"g\.tsv: not a text file in UTF-8"),
        (b"q1 a\n" + b"x" * (LONGEST_LINE + 1), r"g\.tsv, line 2: longer than 1,048,576 bytes"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(read, content, complaint):
    with pytest.raises(InputError, match=complaint):
        read(content)


def test_a_file_without_end_is_refused(read, monkeypatch):
    monkeypatch.setattr(groups, "LARGEST_LIST", 1000)
    with pytest.raises(InputError, match=r"g\.tsv: more than 1,000 bytes, so this is no file of groups"):
        read(b"q a\n" * 1000)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere: No such file"):
        read_groups(tmp_path / "nowhere")
