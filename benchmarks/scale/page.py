"""docs/scale-measured.md: what was measured, in ratios first."""

from importlib.metadata import version

from benchmarks.scale.calibrating import Measured
from benchmarks.scale.figures import PATHS
from benchmarks.scale.findings import Findings
from surecut.markdown import pipe_table

MOST_READING = 3.0
MOST_MEMORY = 4e9
MOST_RAY = 1.5
_GB = 1e9


def page(found: Findings) -> str:
    """The page, in Markdown."""
    return (
        "\n\n".join((*_opening(found), *_against_reading(found), *_curve(found), *_ray(found), *_faults(found))) + "\n"
    )


def _opening(found: Findings) -> list[str]:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("polars", "numba", "ray", "onnxruntime"))
    return [
        "# Growing, measured",
        f"Written by `make bench-scale`, which measures everything below in one run, on {found.processors} processors. "
        "Ratios in that run compare; seconds are those of one machine on one day. A time is that of a whole command, "
        "with its start; memory is that of all its processes together. [What follows from it](capacity.md) for larger "
        "systems is on a page of its own.",
        f"{libraries}.",
    ]


def _against_reading(found: Findings) -> list[str]:
    rows = []
    for queries, depth in found.largest:
        plain, kept = (found.of(path, queries, depth) for path in ("read, nothing kept", "read, all kept"))
        for each in (*found.measured, *found.others):
            if (each.queries, each.depth) == (queries, depth):
                rows.append(
                    [
                        f"{queries:,} x {depth:,}",
                        each.path,
                        f"{each.seconds / plain.seconds:.2f}",
                        f"{each.seconds / kept.seconds:.2f}",
                        f"{each.seconds:.1f}",
                        f"{each.peak_bytes / _GB:.2f}",
                    ]
                )
    heads = ["queries x candidates", "path", "time / reading", "time / reading and keeping", "seconds", "memory, GB"]
    return [
        "## A hundred million rows",
        "*read, nothing kept* is `polars.scan_parquet` streaming through all columns, every batch dropped as it comes; "
        "*read, all kept* collects them into one frame by the same engine. *in memory* is `read_table` and "
        "`calibrate`, *in pieces* `surecut calibrate --table`, *Ray* the same with `--runner ray`, which has to start "
        "first. The three certificates are the same, byte for byte. Below them, other verbs in pieces: an agreement "
        "target, `check` (which has some 20,000 lists evaluated by ir-measures too) and `trials`, whose memory is "
        "mostly that of files which the system maps and takes back when it needs it.",
        pipe_table(heads, rows, 2),
        _verdict(found),
    ]


def _verdict(found: Findings) -> str:
    words = []
    for queries, depth in found.largest:
        pieces = found.of("in pieces", queries, depth).seconds
        against = {
            "keeping nothing": pieces / found.of("read, nothing kept", queries, depth).seconds,
            "keeping all": pieces / found.of("read, all kept", queries, depth).seconds,
        }
        ratios = " and ".join(
            f"{ratio:.2f} times reading and {what} ({'within' if ratio <= MOST_READING else 'beyond'} the limit of "
            f"{MOST_READING:g})"
            for what, ratio in against.items()
        )
        words.append(f"{queries:,} x {depth:,}: {ratios}")
    in_pieces = [found.of("in pieces", *shape) for shape in found.largest]
    most = max(each.peak_bytes for each in (*in_pieces, *found.others))
    return f"In pieces: {'; '.join(words)}. Memory: {most / _GB:.2f} GB at most, of {MOST_MEMORY / _GB:g} allowed."


def _curve(found: Findings) -> list[str]:
    shown = [each for each in found.measured if each.path in PATHS]
    heads = ["queries x candidates", "rows", *(f"{path}, s (GB)" for path in PATHS), "in pieces, µs a query"]
    rows = []
    for shape in dict.fromkeys((each.queries, each.depth) for each in shown):
        of = {each.path: each for each in shown if (each.queries, each.depth) == shape}
        pieces = of["in pieces"]
        rows.append(
            [
                f"{shape[0]:,} x {shape[1]:,}",
                f"{pieces.rows:,}",
                *(_cell(of[path]) for path in PATHS),
                f"{1e6 * pieces.seconds / pieces.queries:,.1f}",
            ]
        )
    return [
        "## Against rows",
        "![Seconds against candidates for four paths, lists of 1,000; the numbers are in the table below.]"
        "(figures/scale-time.svg)",
        "![Peak memory against candidates for the same paths: in pieces it stays nearly level.]"
        "(figures/scale-memory.svg)",
        "![Microseconds a query against the number of queries, lists of 100: the cost of a query does not grow.]"
        "(figures/scale-per-query.svg)",
        pipe_table(heads, rows, 1),
    ]


def _cell(each: Measured) -> str:
    return f"{each.seconds:.2f} ({each.peak_bytes / _GB:.2f})"


def _ray(found: Findings) -> list[str]:
    job = found.job
    verdict = "within" if job.ratio <= MOST_RAY else "beyond"
    return [
        "## What Ray costs",
        f"The same scoring job (BM25 and a cross-encoder, {job.pairs:,} pairs) on the same processors, to the same "
        f"table: {job.local_seconds:.0f} s by the plain path, {job.ray_seconds:.0f} s by Ray, its start and the "
        f"loading of a model in every worker included: {job.ratio:.2f} times, {verdict} the limit of {MOST_RAY:g}. "
        f"Memory: {job.local_bytes / _GB:.2f} and {job.ray_bytes / _GB:.2f} GB.",
    ]


def _faults(found: Findings) -> list[str]:
    rows = [
        [
            each.what,
            f"{each.seconds:.0f}",
            f"{each.seconds / each.undisturbed:.2f}",
            "the same, byte for byte" if each.same else "ANOTHER",
        ]
        for each in found.faults
    ]
    said = [f"On a full disk: `{each.said}`" for each in found.faults if each.said]
    return [
        "## Faults",
        "The same job on a Ray cluster of a head and two worker nodes with one processor each, and what is done to it "
        "when half of it is scored.",
        pipe_table(["fault", "seconds", "times undisturbed", "table"], rows, 1),
        *said,
    ]
