"""Runs out: a TREC file has no room for every id."""

import polars as pl
import pytest

from surecut import InputError
from surecut.io.writing import run_as_trec


@pytest.mark.parametrize("name", ["doc 1", "tab\t2", "line\n3"])
@pytest.mark.parametrize("column", ["query_id", "doc_id"])
def test_an_id_with_a_space_is_refused(column, name):
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "rank": [1], "score": [0.5]})
    assert run_as_trec(run) == b"q Q0 d 1 0.5 surecut\n"
    with pytest.raises(InputError, match="a TREC run cannot hold the id"):
        run_as_trec(run.with_columns(pl.lit(name).alias(column)))
