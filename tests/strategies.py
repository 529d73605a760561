"""Small data full of ties for the property tests, and slow references that owe nothing to the package."""

from dataclasses import dataclass

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st

from surecut import Candidates, read_table, read_trec, write_table

KERNEL_MEASURES = (
    *((name, cutoff, rel) for name in ("RR", "R", "AP") for cutoff in (None, 1, 3, 10) for rel in (1, 2)),
    *((name, cutoff, rel) for name in ("Success", "P") for cutoff in (1, 3, 10) for rel in (1, 2)),
    *(("nDCG", cutoff, 1) for cutoff in (None, 1, 3, 10)),
)
"""(name, cutoff, rel) of every measure the kernel knows."""

RULE_TEXTS = (
    "softmax",
    "softmax(scale=2, rank_prior=0)",
    "softmax-fitted(temperature=1.7)",
    "score",
    "gap",
    "zscore",
    "rank",
    "mass",
)


def measure_text(name, cutoff, rel=1):
    return name + (f"(rel={rel})" if rel != 1 else "") + (f"@{cutoff}" if cutoff is not None else "")


@dataclass(frozen=True)
class Query:
    """One query in no particular order; `missed` are judged documents that were not retrieved."""

    query_id: str
    docs: list
    retriever: list
    reranker: list
    grades: list
    missed: list

    def cut(self, depth):
        """The first `depth` in retriever order; judged documents beyond are missed."""
        kept, lost = self.in_retriever_order()[:depth], self.in_retriever_order()[depth:]
        retriever, reranker, grades, docs = map(list, zip(*kept, strict=True))
        return Query(self.query_id, docs, retriever, reranker, grades, self.missed + [row[2] for row in lost])

    def in_retriever_order(self):
        places = sorted(range(len(self.docs)), key=lambda i: (self.retriever[i], self.docs[i].encode()), reverse=True)
        return [(self.retriever[i], self.reranker[i], self.grades[i], self.docs[i]) for i in places]


def as_candidates(queries, **options):
    """`Candidates.from_arrays` with ids: flat columns and offsets."""
    offsets = np.concatenate(([0], np.cumsum([len(query.docs) for query in queries])))
    return Candidates.from_arrays(
        [score for query in queries for score in query.retriever],
        [score for query in queries for score in query.reranker],
        [grade for query in queries for grade in query.grades],
        offsets=offsets,
        query_ids=[query.query_id for query in queries],
        doc_ids=[doc for query in queries for doc in query.docs],
        missed=[query.missed for query in queries],
        **options,
    )


def tied_queries(seed, count=40, longest=10, values=4, highest_grade=3, shortest=1):
    """Queries with whole-number scores from a handful of values, so that ties are everywhere.

    Both stages lean towards relevant documents, a little.
    """
    rng = np.random.default_rng(seed)
    queries = []
    for number in range(count):
        size = int(rng.integers(shortest, longest + 1))
        grades = rng.integers(1, highest_grade + 1, size) * (rng.random(size) < 0.35)
        queries.append(
            Query(
                f"q{number}",
                [f"d{i}" for i in rng.permutation(size)],
                (rng.integers(0, values, size) + (grades > 0) * rng.integers(0, 2, size)).tolist(),
                (rng.integers(0, values, size) + (grades > 0) * rng.integers(0, 3, size)).tolist(),
                grades.tolist(),
                rng.integers(1, highest_grade + 1, rng.integers(0, 3)).tolist(),
            )
        )
    return queries


def shuffled(queries, seed):
    """The same queries and documents in another order."""
    rng = np.random.default_rng(seed)
    mixed = []
    for place in rng.permutation(len(queries)):
        query, order = queries[place], rng.permutation(len(queries[place].docs))
        columns = (query.docs, query.retriever, query.reranker, query.grades)
        mixed.append(Query(query.query_id, *([column[i] for i in order] for column in columns), query.missed[::-1]))
    return mixed


def long_rows(queries, seed):
    """(query_id, doc_id, retriever, reranker, relevance) of every candidate, and the qrels, in any order."""
    rows = [(q.query_id, *row) for q in queries for row in zip(q.docs, q.retriever, q.reranker, q.grades, strict=True)]
    qrels = [(query, doc, grade) for query, doc, _, _, grade in rows]
    qrels += [(q.query_id, f"m{i}", grade) for q in queries for i, grade in enumerate(q.missed)]
    rng = np.random.default_rng(seed)
    return [rows[i] for i in rng.permutation(len(rows))], [qrels[i] for i in rng.permutation(len(qrels))]


def nested(triples):
    held = {}
    for query, doc, value in triples:
        held.setdefault(query, {})[doc] = value
    return held


def from_trec_files(rows, qrels, folder):
    for name, column in (("first", 2), ("second", 3)):
        lines = [f"{row[0]} Q0 {row[1]} 1 {row[column]!r} {name}" for row in rows]
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "qrels").write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in qrels))
    return read_trec(folder / "first", folder / "second", folder / "qrels")


def through_a_table(data, folder):
    write_table(data, folder / "table")
    return read_table(folder / "table")


def every_container(queries, seed, folder):
    """The same data in another order, in everything that Candidates can be made from."""
    mixed = shuffled(queries, seed)
    rows, qrels = long_rows(mixed, seed)
    columns = ["query_id", "doc_id", "retriever", "reranker", "relevance"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    judgements = pl.DataFrame(qrels, schema=["query_id", "doc_id", "relevance"], orient="row")
    runs = [nested((row[0], row[1], row[column]) for row in rows) for column in (2, 3)]
    return {
        "arrays": as_candidates(mixed),
        "dicts": Candidates.from_dicts(*runs, nested(qrels)),
        "polars": Candidates.from_frame(frame, judgements),
        "pandas": Candidates.from_frame(pd.DataFrame(rows, columns=columns), judgements.to_pandas()),
        "trec": from_trec_files(rows, qrels, folder),
        "table": through_a_table(as_candidates(mixed), folder),
    }


@st.composite
def few_queries(draw, most=4, longest=8):
    """A few ragged lists that hypothesis can shrink; scores and grades are small whole numbers."""
    small = st.integers(0, 3)
    queries = []
    for number in range(draw(st.integers(1, most))):
        rows = draw(st.lists(st.tuples(small, small, small), min_size=1, max_size=longest))
        retriever, reranker, grades = map(list, zip(*rows, strict=True))
        docs = [f"d{i}" for i in range(len(rows))]
        missed = draw(st.lists(st.integers(0, 3), max_size=2))
        queries.append(Query(f"q{number}", docs, retriever, reranker, grades, missed))
    return queries


def rows_of(data, query):
    return slice(int(data.offsets[query]), int(data.offsets[query + 1]))


def missed_of(data, query):
    return data.missed[data.missed_offsets[query] : data.missed_offsets[query + 1]].tolist()


def kept_by_definition(keys, threshold, min_keep, max_keep):
    """How many of one list have a key that reaches the threshold, between the two limits."""
    reached = sum(1 for key in keys if key >= threshold)
    reached = max(reached, min_keep)
    if max_keep is not None:
        reached = min(reached, max_keep)
    return min(reached, len(keys))


def final_list(final, kept, tail):
    """Places in the final list: survivors by final score (ties: retriever rank), then the appended rest."""
    survivors = sorted(range(kept), key=lambda place: (-final[place], place))
    return survivors + (list(range(kept, len(final))) if tail == "append" else [])


def value_by_definition(name, cutoff, rel, grades, judged_grades):
    """A measure of one final list, from its grades in order and the grades of all judged documents."""
    top = grades[:cutoff] if cutoff is not None else list(grades)
    if name == "nDCG":
        ideal = sorted(judged_grades, reverse=True)[:cutoff]
        best = sum(max(g, 0) / np.log2(i + 2) for i, g in enumerate(ideal))
        return sum(max(g, 0) / np.log2(i + 2) for i, g in enumerate(top)) / best if best > 0 else 0.0
    hits = [place for place, grade in enumerate(top, start=1) if grade >= rel]
    relevant = sum(grade >= rel for grade in judged_grades)
    if not hits:
        return 0.0
    return {
        "RR": 1 / hits[0],
        "Success": 1.0,
        "P": len(hits) / cutoff if cutoff else None,
        "R": len(hits) / relevant,
        "AP": sum((i + 1) / place for i, place in enumerate(hits)) / relevant,
    }[name]


def ir_measures_values(lists, measures):
    """{measure: value of every query} by ir-measures; `lists` holds (grades in final order, missed grades).

    Its pytrec_eval has no RR@k (the list is cut instead) and no R without k (k is larger than any list).
    """
    values = {}
    for name, cutoff, rel in measures:
        run, qrels = {}, {}
        for number, (grades, missed) in enumerate(lists):
            shown = grades[:cutoff] if name == "RR" and cutoff is not None else grades
            run[str(number)] = {f"d{place}": 1000.0 - place for place in range(len(shown))}
            qrels[str(number)] = {
                "unretrieved": 0,
                **{f"d{place}": grade for place, grade in enumerate(grades)},
                **{f"m{place}": grade for place, grade in enumerate(missed)},
            }
        wanted = 9999 if name == "R" and cutoff is None else None if name == "RR" else cutoff
        counterpart = ir_measures.parse_measure(measure_text(name, wanted, rel))
        found = np.zeros(len(lists))
        for result in ir_measures.pytrec_eval.iter_calc([counterpart], qrels, run):
            found[int(result.query_id)] = result.value
        values[name, cutoff, rel] = found
    return values
