"""The export to pgvector, executed by PostgreSQL on a few thousand real texts."""

from contextlib import contextmanager

import numpy as np
import pgserver
import psycopg
import pytest

pytestmark = pytest.mark.heavy

DEPTH = 60
SCORES = {"cosine": "1 - (embedding <=> %s)", "dot": "-(embedding <#> %s)", "euclid": "-(embedding <-> %s)"}
ORDER = {"cosine": "<=>", "dot": "<#>", "euclid": "<->"}


@pytest.fixture(scope="module")
def connection(vectors, tmp_path_factory):
    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as connected:
        connected.execute("CREATE EXTENSION vector")
        connected.execute("CREATE TABLE documents (id text PRIMARY KEY, embedding vector(48))")
        with connected.cursor().copy("COPY documents FROM STDIN") as copy:
            for name, row in zip(vectors.names, vectors.documents, strict=True):
                copy.write_row((name, as_vector(row)))
        yield connected
    server.cleanup()


def as_vector(row):
    return str(row.tolist())


@pytest.fixture(params=SCORES)
def metric(request):
    return request.param


@pytest.fixture
def found(connection, metric):
    """Names and scores of a question, as its owner would collect them for the calibration."""

    def search(vector, depth):
        given = as_vector(vector)
        query = (
            f"SELECT id, {SCORES[metric]}::float8 FROM documents ORDER BY embedding {ORDER[metric]} %s LIMIT {depth}"
        )
        rows = connection.execute(query, (given, given)).fetchall()
        return [name for name, _ in rows], [score for _, score in rows]

    return search


@contextmanager
def prepared(connection, text):
    """The snippet as it was printed, comments and all; $1 is bound by the server."""
    connection.execute(f"PREPARE pruned (vector) AS {text}")
    try:
        yield lambda vector: connection.execute(f"EXECUTE pruned ('{as_vector(vector)}')").fetchall()
    finally:
        connection.execute("DEALLOCATE pruned")


@pytest.mark.parametrize(
    "options",
    [
        {"rule": "score", "min_keep": 0},
        {"rule": "score", "min_keep": 7, "max_keep": 40},
        {"rule": "rank"},
        {"rule": "gap", "min_keep": 2},
        {"rule": "rank", "tail": "append"},
        {"rule": "gap", "tail": "append"},
        {"rule": "score", "min_keep": 0, "fusion": 0.2},
    ],
    ids=lambda options: " ".join(f"{name}={value}" for name, value in options.items()),
)
def test_the_rows_are_the_survivors(options, connection, metric, found, vectors, calibrated):
    certificate, first = calibrated(found, DEPTH, **options)
    text = certificate.export("pgvector", metric=metric).text
    with prepared(connection, text) as execute:
        answers = [execute(vector) for vector in vectors.questions]
    for name, rows in zip(vectors.asked, answers, strict=True):
        listed = list(first[name])
        kept = certificate.survivors(list(first[name].values()), listed)
        if options.get("tail") == "append":
            assert len(rows) == len(listed)
            rows = [row for row in rows if row[3]]
        assert [row[0] for row in rows] == [listed[place] for place in kept]
        assert [row[2] for row in rows] == list(range(1, len(rows) + 1))
        assert [row[1] for row in rows] == pytest.approx([np.float32(first[name][row[0]]) for row in rows])
    sizes = {len(rows) for rows in answers}
    assert options["rule"] == "rank" or options.get("tail") == "append" or len(sizes) > 5
