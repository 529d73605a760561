"""A table with ties, lists of several lengths, queries without judgements, and one that found nothing."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.io.tables import DEPTH, LENGTHS, QUERIES, written

import surecut as sc
from surecut.io.table import judgements, to_frame


@pytest.fixture(scope="session")
def data():
    """Ties, lists of several lengths, one query in nine without judgements, and one judged that found nothing."""
    data = sc.simulate("graded", queries=QUERIES, depth=DEPTH, seed=3, ties=True)
    return replace(data, query_ids=np.array([str(number) for number in range(QUERIES)], dtype=object))


@pytest.fixture(scope="session")
def frame(data):
    rows = to_frame(data).with_columns(rank=pl.int_range(pl.len()).over("query_id"))
    number = pl.col("query_id").cast(pl.Int64)
    return rows.filter(pl.col("rank") < DEPTH - number % LENGTHS).drop("rank")


@pytest.fixture(scope="session")
def qrels(data):
    judged = judgements(data).filter(pl.col("query_id").cast(pl.Int64) % 9 != 0)
    return pl.concat((judged, pl.DataFrame({"query_id": ["nobody"], "doc_id": ["d"], "relevance": [1]}, judged.schema)))


@pytest.fixture(scope="session")
def folder(frame, qrels, tmp_path_factory):
    return written(tmp_path_factory.mktemp("table") / "t", frame, qrels, parts=3)


@pytest.fixture
def table(folder):
    return sc.scan_table(folder)
