"""python -m benchmarks.integrations: time every integration with a real cross-encoder, write the page."""

import argparse
import os
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from benchmarks.integrations.libraries import every
from benchmarks.integrations.measuring import Measured, measure
from benchmarks.integrations.system import DROP, System, prepare
from benchmarks.real.checkpoint import CHECKPOINT, SOURCE, write_checkpoint
from benchmarks.real.models import fetch
from surecut.files import write_atomically
from surecut.markdown import pipe_table

PAGE = Path(__file__).parents[2] / "docs" / "integrations" / "measured.md"
PACKAGES = (
    "sentence-transformers",
    "rerankers",
    "pyterrier",
    "langchain-core",
    "llama-index-core",
    "haystack-ai",
    "beir",
    "ranx",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.integrations", description=__doc__)
    parser.add_argument("--models", type=Path, default=Path(".models"), help="where models are kept")
    parser.add_argument("--scores", type=Path, default=Path("scores"), help="where the score table is kept")
    parser.add_argument("--queries", type=int, default=40, help="held-out queries that are timed")
    options = parser.parse_args()
    if "SURECUT_DATA" not in os.environ:
        parser.error("SURECUT_DATA is not set: it names the folder of the collections (quora-duplicates.zip, ...)")
    os.environ["SURECUT_MODELS"] = str(options.models.resolve())
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
    fetch(options.models, [SOURCE])
    write_checkpoint(options.models / SOURCE, options.models / CHECKPOINT)
    system = prepare(options.scores, options.queries)
    console = Console(stderr=True, highlight=False)
    results = []
    for library in every(system):
        results.append(measure(library, system))
        console.print(f"{library.name}: {results[-1].saved:.1f} x faster, pruning {results[-1].overhead:.2%}")
    write_atomically(PAGE, page(system, results))
    console.print(f"wrote {PAGE}")


def page(system: System, results: list[Measured]) -> str:
    """The page, in Markdown."""
    certificate = system.certificate
    kept = sum(certificate.keep(each.scores, any_length=True) for each in system.asked) / len(system.asked)
    rows = [
        [
            each.name,
            f"{each.full:,.0f}",
            f"{each.prune:.2f}",
            f"{each.overhead:.3%}",
            f"{each.pruned:,.1f}",
            f"{each.saved:.1f}",
            f"{each.quality_full:.3f} -> {each.quality_pruned:.3f}",
        ]
        for each in results
    ]
    heads = [
        "library",
        "its own call, ms a query",
        "pruning alone, ms",
        "pruning / its own call",
        "pruned call, ms",
        "times faster",
        "RR@10",
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        _TEXT.format(
            drop=DROP,
            statement=certificate.statement,
            queries=len(system.asked),
            kept=kept,
            depth=certificate.depth,
            versions=versions,
        )
        + pipe_table(heads, rows)
        + "\n"
        + _END
    )


_TEXT = """# What it costs and saves

Made by `make bench-integrations`, not by hand: every library's own reranking call with a real cross-encoder
(ms-marco-MiniLM-L-12, by torch, on a CPU), and the same call behind a certificate, taking turns in one run.
Candidates are BM25's over 89,315 questions (quora-duplicates). The certificate allows a drop of {drop:.0%}:

> {statement}

The {queries} queries that are timed took no part in it; {kept:.1f} of their {depth} candidates are reranked on average.
Milliseconds depend on the machine; read the ratios. RR@10 is that of the timed queries, everything reranked and pruned,
and a sample of this size has much noise of its own.

Current releases: {versions}.

"""

_END = """
"Pruning alone" is the step that the integration adds: reading scores from the library's documents, the certificate's
checks and cut, and handing out the survivors. ranx rows are reranked by BEIR's `Rerank`, because ranx has no reranker.
"""

if __name__ == "__main__":
    main()
