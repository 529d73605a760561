"""Keys, and how often one may ask."""

import pytest

from surecut.errors import InputError
from surecut.serve.limits import Keys, Rate, read_keys


def test_a_bucket_fills_again():
    rate = Rate(2.0)
    assert [rate.wait("a", 0.0), rate.wait("a", 0.0)] == [0.0, 0.0]
    assert rate.wait("a", 0.0) == pytest.approx(0.5)
    assert rate.wait("b", 0.0) == 0.0  # another client's is its own
    assert rate.wait("a", 0.5) == 0.0
    assert rate.wait("a", 0.5) > 0.0
    assert [rate.wait("a", 100.0) for _ in range(3)] == [0.0, 0.0, pytest.approx(0.5)]


def test_slow_rates_allow_one_at_a_time():
    rate = Rate(0.1)
    assert rate.wait("a", 0.0) == 0.0
    assert rate.wait("a", 1.0) == pytest.approx(9.0)


def test_without_a_rate_nobody_waits():
    assert Rate(None).wait("a") == 0.0


def test_clients_are_not_remembered_for_ever():
    rate = Rate(1.0)
    for number in range(25_000):
        rate.wait(str(number), 0.0)
    assert len(rate._buckets) <= 10_000


def test_keys_are_lines_of_a_file(tmp_path):
    path = tmp_path / "keys.txt"
    path.write_text("# of the search team\nfirst-key-0123456789\n\n  second-key-0123456789  \n")
    keys = Keys(read_keys(path))
    assert keys
    assert [keys.opens(key) for key in ("first-key-0123456789", "second-key-0123456789", "", "first")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"# none\n", "no key in it"), (b"short\n", "fewer than 16"), (b"\xff\xfe", "not a text file")],
)
def test_files_without_good_keys_are_refused(tmp_path, content, complaint):
    path = tmp_path / "keys.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        read_keys(path)


def test_a_key_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_keys(tmp_path / "keys.txt")


def test_a_key_that_is_no_text_opens_nothing():
    assert not Keys(["a long enough key"]).opens("\udcff")
