"""pgvector: a query that hands out the survivors for the reranker behind it.

SQL can do more than a cut: it holds the least number that is kept, and it can hand out the pruned documents as well,
marked, where the certificate appends them. Distances become scores that are higher for better documents, in 32 bits.
"""

from surecut.certificate import Certificate
from surecut.export.comments import about, commented
from surecut.export.cut import Cut
from surecut.export.engine import Engine, Snippet

_DISTANCES = {"cosine": "<=>", "dot": "<#>", "euclid": "<->"}
_SCORES = {"cosine": "1 - (embedding <=> $1)", "dot": "-(embedding <#> $1)", "euclid": "-(embedding <-> $1)"}


def write(cut: Cut, certificate: Certificate, metric: str | None) -> Snippet:
    assert metric is not None
    survives = _condition(cut)
    appends = certificate.tail == "append" and cut.prunes
    notes = [
        "Yours to fill in: the table, its columns id and embedding, and $1, the query's vector. An approximate index "
        f"must search as deep as in calibration: hnsw.ef_search as it was there, at least {cut.depth:,}."
    ]
    beta = float(certificate.fusion["beta"])
    if appends:
        notes.append("Rerank the rows that survive; the others follow them in this order.")
    if beta:
        notes.append(f"The final order is by {beta!r} * score + {1 - beta!r} * the reranker's score.")
    chosen, where = (f", {survives} AS survives", "") if appends else ("", f"\nWHERE {survives}" if cut.prunes else "")
    text = f"""\
WITH candidates AS MATERIALIZED (
    SELECT id, ({_SCORES[metric]})::real AS score
    FROM documents
    ORDER BY embedding {_DISTANCES[metric]} $1
    LIMIT {cut.depth}
), ranked AS (
    SELECT id, score,
           max(score) OVER () AS best,
           row_number() OVER (ORDER BY score DESC, id::text COLLATE "C" DESC) AS rank
    FROM candidates
    WHERE score <> 'NaN'
)
SELECT id, score, rank{chosen}
FROM ranked{where}
ORDER BY rank;
"""
    settings = {"limit": cut.depth, "condition": survives}
    return Snippet(commented("--", about(certificate, cut, *notes)) + text, settings)


def _condition(cut: Cut) -> str:
    """Which rows survive."""
    if cut.least is None:
        return f"rank <= {cut.window}"
    by_score = f"score >= ({cut.least!r})::real"
    reached = f"score::float8 - best::float8 >= {cut.least!r}" if cut.from_best else by_score
    held = f"({reached} OR rank <= {cut.min_keep})" if cut.min_keep else reached
    return f"{held} AND rank <= {cut.window}" if cut.window < cut.depth else held


PGVECTOR = Engine(
    "pgvector",
    "a query that hands out the survivors",
    write,
    rules=("rank", "score", "gap"),
    reranks=False,
    metric="always",
)
