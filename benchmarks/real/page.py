"""The page about real systems, in Markdown."""

from collections.abc import Iterable

from benchmarks.real.again import QUERIES, Again
from benchmarks.real.encoding import Rates
from benchmarks.real.findings import CONFIDENCE, OTHER_SPLITS, SHARES, Claim, Findings
from surecut.checking import Check

_HEAD = """# Real systems

Made by `make real`, not by hand: the recipes in `recipes/` run over real collections with real models (ONNX, on a CPU),
and every figure below comes from that run, over score tables that it made or found made before (see "Made again").
`quora-duplicates` is of the kind of BEIR Quora, not BEIR Quora itself.

Queries are divided by a hash of their ids: {tuning:.0%} tune the fusion weight, {calibration:.0%} calibrate,
{held_out:.0%} are held out. Each claim is made with {confidence:.0%} confidence by itself. surecut's default rule was
chosen on several collections, two of these among them.
"""


def page(found: Iterable[Findings], again: Iterable[Again], rates: Iterable[Rates]) -> str:
    """The whole page."""
    results = list(found)
    tuning, calibration, held_out = SHARES
    parts = [
        _HEAD.format(tuning=tuning, calibration=calibration, held_out=held_out, confidence=CONFIDENCE),
        "## How good the stages are\n\nOn the queries that did not tune.\n\n" + _qualities(results),
        "## What can be certified\n\n" + _CLAIMS.format(splits=OTHER_SPLITS) + _claims(results),
        "## On the clock\n\n" + _CLOCK + _clock(results),
        "## Made again\n\n" + _AGAIN.format(queries=QUERIES) + _again(again),
    ]
    if measured := list(rates):
        parts.append("## ONNX against sentence-transformers\n\n" + _ENCODING + _encoding(measured))
    return "\n".join(parts)


_CLAIMS = """\
Mean candidates kept and the measure are those of the held-out queries: everything reranked -> pruned. The last column
is what the claim is about, with a 90% interval: held-out queries are a sample too, and one that speaks against a claim
is marked. How many are kept depends on which queries calibrate, so the smallest and the largest mean of {splits} other
splits stand beside it, and on how many of them the claim was certified. An abstained certificate prunes nothing; it
says how many labelled queries would probably do. The values of `at least` were chosen for this page with the tables in
sight; for a claim of one's own that is done before calibration.

"""

_CLOCK = """\
Full against pruned reranking of the same held-out queries, one query at a time, taking turns. A bi-encoder's documents
are encoded in advance, so its time is that of encoding the query, and pruning saves next to nothing.

"""

_AGAIN = """\
The first {queries} queries of every shipped table scored anew by its recipe, in the run that made this page; a
bi-encoder's document vectors are those kept from the first time.

"""

_ENCODING = """\
Texts a second with all-MiniLM-L6-v2: surecut's ONNX path (int8, one text at a time on each core, so that a vector does
not depend on its batch) and sentence-transformers (fp32, batches of 32), taking turns in one run.

"""


def _qualities(results: list[Findings]) -> str:
    rows = [
        [
            each.name,
            f"{each.queries:,} x {each.depth:,}",
            quality.measure,
            f"{quality.retriever:.4f}",
            f"{quality.reranker:.4f}",
            f"{quality.fused:.4f}",
            f"{each.beta:.3g}",
        ]
        for each in results
        for quality in each.qualities
    ]
    return _table(["system", "queries x depth", "measure", "retriever", "reranker", "fused", "weight"], rows)


def _claims(results: list[Findings]) -> str:
    rows = [[each.name, *_claim(each, claim)] for each in results for claim in each.claims]
    heads = [
        "system",
        "claim",
        "status",
        "threshold",
        "kept",
        "other splits",
        "p95",
        "measure, held out",
        "drop or value",
    ]
    return _table(heads, rows)


def _claim(found: Findings, claim: Claim) -> list[str]:
    certificate, check = claim.certificate, claim.check
    return [
        _in_words(certificate.measure, certificate.target["kind"], certificate.target["value"]),
        certificate.status + _advised(claim),
        "-" if claim.speedup is None else f"{certificate.threshold:.3f}",
        f"{check.mean_kept:,.1f} of {check.mean_candidates:,.0f}",
        _elsewhere(claim.elsewhere),
        f"{check.kept_quantiles['p95']:,}",
        f"{check.mean_full:.4f} -> {check.mean_pruned:.4f} ({check.queries:,} queries)",
        _estimated(certificate.target["kind"], check) + (", against the claim" if check.contradicted else ""),
    ]


def _elsewhere(kept: list[float]) -> str:
    spread = f"{min(kept):,.1f} to {max(kept):,.1f}, " if kept else ""
    return f"{spread}{len(kept)} of {OTHER_SPLITS}"


def _estimated(kind: str, check: Check) -> str:
    form = "{:.3f}" if kind == "at_least" else "{:.1%}"
    estimate, low, high = (form.format(value) for value in (check.estimate, *check.interval))
    return f"{estimate} ({low} to {high})"


def _advised(claim: Claim) -> str:
    advice = claim.certificate.advice
    if claim.speedup is not None or not advice or not advice.get("queries"):
        return ""
    return f" (about {advice['queries']:,} queries would do)"


def _in_words(measure: str, kind: str, value: float) -> str:
    return f"{measure} at least {value:g}" if kind == "at_least" else f"{measure} at most {value:.0%} lower"


def _clock(results: list[Findings]) -> str:
    rows = []
    for each in results:
        for claim in each.claims:
            if claim.speedup is None:
                continue
            times, certificate = claim.speedup["milliseconds"], claim.certificate
            rows.append(
                [
                    each.name,
                    _in_words(certificate.measure, certificate.target["kind"], certificate.target["value"]),
                    f"{claim.speedup['reranking_ratio']:.1f} x",
                    f"{claim.speedup['candidates_ratio']:.1f} x",
                    f"{times['full']['p50']:,.0f} -> {times['pruned']['p50']:,.0f}",
                    f"{times['full']['p95']:,.0f} -> {times['pruned']['p95']:,.0f}",
                    _share(claim.speedup["pruning_share_of_saved"]),
                ]
            )
    heads = [
        "system",
        "claim",
        "faster",
        "fewer pairs",
        "ms a query, median",
        "95th percentile",
        "pruning / time saved",
    ]
    return _table(heads, rows)


def _again(compared: Iterable[Again]) -> str:
    rows = [[each.name, f"{each.pairs:,}", f"{each.identical:,}", f"{each.farthest:.2g}"] for each in compared]
    return _table(["system", "pairs", "the same to the last bit", "largest difference"], rows)


def _share(share: float | None) -> str:
    return "nothing saved" if share is None else f"{share:.3%}"


def _encoding(rates: list[Rates]) -> str:
    rows = [
        [each.what, f"{each.texts:,}", f"{each.ratio:.2f} x", f"{each.onnx:,.0f}", f"{each.library:,.0f}"]
        for each in rates
    ]
    return _table(["texts", "how many", "ratio", "ONNX, texts/s", "sentence-transformers, texts/s"], rows)


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
