"""surecut assess"""

from pathlib import Path
from typing import Annotated

import typer

from surecut.cli import options as o
from surecut.cli.values import chosen_confidence, chosen_fusion
from surecut.targets import CLAIMS

HELP = """What can be claimed for a cut you already use, or for a mean budget; no search over thresholds.

Example: surecut assess --keep 50 --retriever bm25.run --reranker mono.run --qrels qrels.txt

Example: surecut assess --budget 40 --table scores/
"""


def assess(
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            metavar="N",
            help="The top N is reranked today: what does it cost?",
            rich_help_panel=o.CLAIM,
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="N",
            help="N candidates a query on average: what is the best claim?",
            rich_help_panel=o.CLAIM,
        ),
    ] = None,
    claim: Annotated[
        str,
        typer.Option("--claim", metavar="|".join(CLAIMS), help="The kind of claim to make.", rich_help_panel=o.CLAIM),
    ] = "max-drop",
    retriever: o.Retriever = None,
    reranker: o.Reranker = None,
    qrels: o.Qrels = None,
    table: o.Table = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="cert.json",
            help="Where to write the certificate.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    measure: o.MeasureName = "RR@10",
    confidence: o.Confidence = "0.9",
    rule: o.RuleName = "softmax",
    test: o.TestName = "auto",
    tail: o.TailName = "drop",
    min_keep: o.MinKeep = 1,
    depth: o.Depth = None,
    fusion: o.Fusion = "0",
    missing_reranker: o.MissingReranker = "error",
    absent: o.Absent = "skip",
    groups: o.Groups = None,
    ms_per_pair: o.MsPerPair = None,
    json: o.Json = False,
) -> None:
    from surecut import assessing
    from surecut.cli.loading import groups_in, open_data
    from surecut.cli.printing import EXIT, err, print_certificate, print_json
    from surecut.cli.watching import watching

    reading = {"depth": depth, "missing_reranker": missing_reranker, "absent": absent, "groups": groups_in(groups)}
    with watching() as watch:
        data = open_data(retriever, reranker, qrels, table, watch=watch, **reading)  # type: ignore[arg-type]
        watch.stage("assessing")
        certificate = assessing.assess(
            data,
            keep=keep,
            budget=budget,
            claim=claim,  # type: ignore[arg-type]
            measure=measure,
            confidence=chosen_confidence(confidence),
            rule=rule,
            test=test,
            tail=tail,  # type: ignore[arg-type]
            min_keep=min_keep,
            depth=depth,
            fusion=chosen_fusion(fusion),  # type: ignore[arg-type]
        )
    if output is not None:
        certificate.save(output)
        err.print(f"written to {output}", style="dim", markup=False)
    if json:
        print_json({**certificate.to_dict(), "digest": certificate.digest})
    else:
        print_certificate(certificate, ms_per_pair)
    raise typer.Exit(EXIT[certificate.status])
