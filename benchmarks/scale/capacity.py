"""docs/capacity.md: from what was measured here to what a large system needs, on paper."""

from dataclasses import dataclass

from benchmarks.scale.findings import Findings
from surecut.markdown import pipe_table

PASSAGES, QUERIES, DEPTH = 8_841_823, 500_000, 1_000
GPU_MS = (3.3, 6.7)
"""Milliseconds a pair takes on a GPU, as the paper gives them for its two rerankers."""

PAPERS_SIZE = 27
"""Candidates that the paper's certificate keeps of 1,000 for DPR and MonoELECTRA (its Table 3, MS MARCO)."""

RATE = 1_000  # queries a second
_FOUND_BYTES = 12  # of a candidate: a document's number and a score
_HOUR, _DAY, _GB, _MILLION = 3_600.0, 86_400.0, 1e9, 1e6


@dataclass(frozen=True)
class Unit:
    """What one of each takes here, in seconds of one processor, or bytes."""

    pair: float
    document: float
    search: float
    calibrated_deep: float  # a query with its whole list
    calibrated_shallow: float
    query_bytes: float  # that stay in memory while a table is calibrated on
    resting_bytes: float  # whatever the number of queries
    row_bytes: float  # on disk
    index_bytes: float  # of a document, on disk

    @classmethod
    def of(cls, found: Findings) -> "Unit":
        (deep_queries, deep), (queries, shallow) = found.largest[0], found.largest[-1]
        largest = found.of("in pieces", queries, shallow)
        smaller = max((each for each in _pieces(found, shallow) if each.queries < queries), key=lambda x: x.queries)
        growth = (largest.peak_bytes - smaller.peak_bytes) / (largest.queries - smaller.queries)
        whole = found.of("in pieces", deep_queries, deep)
        return cls(
            pair=found.processors * found.job.local_seconds / found.job.pairs,
            document=found.processors * found.stages.seconds_a_document,
            search=found.stages.seconds_a_query,
            calibrated_deep=found.processors * whole.seconds / deep_queries,
            calibrated_shallow=found.processors * largest.seconds / queries,
            query_bytes=max(growth, 0.0),
            resting_bytes=max(smaller.peak_bytes - growth * smaller.queries, 0.0),
            row_bytes=found.bytes_a_row,
            index_bytes=found.stages.index_bytes / found.stages.documents,
        )


def _pieces(found: Findings, depth: int) -> list:
    return [each for each in found.measured if each.path == "in pieces" and each.depth == depth]


def capacity(found: Findings) -> str:
    """The page, in Markdown."""
    unit = Unit.of(found)
    return "\n\n".join((*_measured(found, unit), *_needed(found, unit), *_saved(found), *_next(found, unit))) + "\n"


def _measured(found: Findings, unit: Unit) -> list[str]:
    shallow, deep = found.largest[-1][1], found.largest[0][1]
    rows = [
        ["a million pairs through the cross-encoder (12 layers, int8, short questions)", _time(unit.pair)],
        ["a million passages through a small bi-encoder (12 layers, int8, short questions)", _time(unit.document)],
        [f"a million BM25 searches for the best 1,000 of {found.stages.documents:,} questions", _time(unit.search)],
        [f"calibrating on a million queries of {deep:,} candidates", _time(unit.calibrated_deep)],
        [f"calibrating on a million queries of {shallow:,} candidates", _time(unit.calibrated_shallow)],
    ]
    return [
        "# Capacity",
        "What it takes to grow, from [what was measured](scale-measured.md). Written by `make bench-scale`; the first "
        "table is measured, everything after it is that, multiplied.",
        "## Measured here",
        pipe_table(["", "time of one processor"], rows, 1),
    ]


def _time(seconds: float) -> str:
    """How long a million of them take."""
    total = seconds * _MILLION
    for size, name in ((_HOUR, "hours"), (60.0, "minutes"), (1.0, "seconds")):
        if total >= size:
            return f"{total / size:,.1f} {name}"
    return f"{total:.2f} seconds"


def _needed(found: Findings, unit: Unit) -> list[str]:
    pairs, rows = QUERIES * DEPTH, QUERIES * DEPTH
    larger = PASSAGES / found.stages.documents
    search = unit.search * larger * QUERIES / _HOUR
    gpu = " to ".join(f"{pairs * each / 1000 / _HOUR:,.0f}" for each in GPU_MS)
    vectors = PASSAGES * found.stages.width * 4 / _GB
    calibrated = QUERIES * unit.calibrated_deep / _HOUR
    memory = (unit.resting_bytes + QUERIES * unit.query_bytes) / _GB
    cells = [
        ["BM25 index", "-", "-", "mapped", f"{PASSAGES * unit.index_bytes / _GB:,.1f} GB"],
        [
            "vectors instead, by a small bi-encoder",
            f"{PASSAGES * unit.document / _HOUR:,.0f}",
            "-",
            "mapped",
            f"{vectors:,.0f} GB",
        ],
        [f"searching {QUERIES:,} queries by BM25", f"{search:,.0f}", "-", "the index", "-"],
        ["what is found, until it is reranked", "-", "-", "-", f"{rows * _FOUND_BYTES / _GB:,.1f} GB"],
        [
            f"reranking {pairs:,} pairs",
            f"{pairs * unit.pair / _HOUR:,.0f} (12 layers, int8)",
            f"{gpu} (the paper's)",
            "a model a worker",
            "-",
        ],
        ["the score table", "-", "-", "-", f"{rows * unit.row_bytes / _GB:,.1f} GB"],
        ["calibrating on it, in pieces", f"{calibrated:,.2f}", "-", f"{memory:,.1f} GB", "-"],
    ]
    return [
        f"## {PASSAGES / _MILLION:.1f} million passages, {QUERIES:,} queries, top {DEPTH:,}",
        f"GPU hours take the paper's {GPU_MS[0]} and {GPU_MS[1]} ms a pair; a search by BM25 is taken to grow with the "
        "collection; passages are longer than the questions measured here, so that indexing, reranking and encoding "
        "them on a CPU takes several times as much.",
        pipe_table(["", "CPU hours", "GPU hours", "memory", "storage"], cells, 1),
        f"Reranking is everything: calibrating costs {calibrated / (pairs * GPU_MS[0] / 1000 / _HOUR):.1e} of it.",
    ]


def _saved(found: Findings) -> list[str]:
    daily = RATE * _DAY
    kept = {
        "everything": float(DEPTH),
        f"at most 1% below that, as certified here ({found.mean_kept:,.0f} of {found.depth:,})": found.mean_kept
        * DEPTH
        / found.depth,
        f"the paper's {PAPERS_SIZE} of 1,000": float(PAPERS_SIZE),
    }
    rows = []
    for name, size in kept.items():
        hours = [daily * size * each / 1000 / _HOUR for each in GPU_MS]
        busy = " to ".join(f"{each / 24:,.0f}" for each in hours)
        saved = " to ".join(f"{daily * (DEPTH - size) * each / 1000 / _HOUR:,.0f}" for each in GPU_MS)
        rows.append([name, f"{daily * size:,.2g}", busy, saved])
    return [
        f"## What pruning saves at {RATE:,} queries a second",
        f"{daily / _MILLION:,.1f} million queries a day. The certificate is the one of the simulated system of the "
        "benchmark (a dense retriever with a strong cross-encoder), so take your own.",
        pipe_table(["reranked", "pairs a day", "GPUs busy all day", "GPU hours saved a day"], rows, 1),
    ]


def _next(found: Findings, unit: Unit) -> list[str]:
    queries, depth = found.largest[0]
    reading, pieces = (found.of(path, queries, depth) for path in ("read, nothing kept", "in pieces"))
    room, search = 64e9, unit.search * PASSAGES / found.stages.documents
    most = (room - unit.resting_bytes) / max(unit.query_bytes, 1.0)
    return [
        "## Where the next bottleneck is",
        "- **Scoring.** The reranker, by far; it is spread over as many GPUs as there are (`surecut score --runner "
        "ray --gpus 1`), and a block of pairs is all that a failed worker loses. The driver writes what is found and "
        f"what is scored ({_FOUND_BYTES + unit.row_bytes:.0f} bytes a pair): a million pairs a second are "
        f"{_FOUND_BYTES + unit.row_bytes:,.0f} MB a second to its disk, long after everything else has ended.",
        f"- **Calibrating.** Decoding the Parquet files is {reading.seconds / pieces.seconds:.0%} of the time on one "
        "machine, and document ids are most of it. Ray divides that over nodes; what cannot be divided is the walk, "
        "which needs every query's change points in one place in the pre-registered order: "
        f"{unit.query_bytes:,.0f} bytes a query here (for RR@10; fitting a fusion weight takes 103 numbers more for "
        f"each query that tunes), so that a machine with {room / _GB:.0f} GB ends at about "
        f"{most / _MILLION:,.0f} million queries.",
        "- **Judgements** are read at once, and so is the column of query ids; both are small beside the lists.",
        f"- **After pruning**, retrieval. A BM25 search of {PASSAGES / _MILLION:.1f} million passages, taken to grow "
        f"with the collection, costs a processor what {1000 * search / GPU_MS[0]:,.0f} pairs cost a GPU at "
        f"{GPU_MS[0]} ms: "
        "where fewer are kept, the first stage is the next thing to make cheaper.",
    ]
