"""surecut calibrate"""

from typing import Any

import typer

from surecut.cli import options as o
from surecut.cli.values import chosen_confidence, chosen_fusion, chosen_runner, chosen_target

HELP = """Find the smallest survivor sets for which a quality claim holds, and write the certificate.

Example: surecut calibrate --retriever bm25.run --reranker mono.run --qrels qrels.txt --max-drop 1% -o cert.json

Exit status: 0 certified, 3 relaxed or uncertified, 4 abstained (too few queries, or out of reach), 2 bad input.
"""


def calibrate(
    retriever: o.Retriever = None,
    reranker: o.Reranker = None,
    qrels: o.Qrels = None,
    table: o.Table = None,
    output: o.CertificateOutput = None,
    measure: o.MeasureName = "RR@10",
    at_least: o.AtLeastValue = None,
    max_drop: o.MaxDropValue = None,
    max_drop_abs: o.MaxDropAbs = None,
    agreement: o.AgreementValue = None,
    confidence: o.Confidence = "0.9",
    rule: o.RuleName = "softmax",
    test: o.TestName = "auto",
    tail: o.TailName = "drop",
    min_keep: o.MinKeep = 1,
    max_keep: o.MaxKeep = None,
    depth: o.Depth = None,
    fusion: o.Fusion = "0",
    tune_fraction: o.TuneFraction = 0.2,
    tune_table: o.TuneTable = None,
    fit_on_calibration: o.FitOnCalibration = False,
    procedure: o.ProcedureName = "walk",
    grid: o.GridName = "auto",
    if_unreachable: o.IfUnreachable = "abstain",
    missing_reranker: o.MissingReranker = "error",
    absent: o.Absent = "skip",
    groups: o.Groups = None,
    ms_per_pair: o.MsPerPair = None,
    runner: o.RunnerName = "local",
    address: o.Address = None,
    json: o.Json = False,
) -> None:
    from surecut.calibration import calibrated
    from surecut.choices import resolve
    from surecut.cli.loading import groups_in, open_data, open_tuning, run_in
    from surecut.cli.printing import EXIT, err, print_census, print_certificate, print_json
    from surecut.cli.watching import watching
    from surecut.counting import census
    from surecut.files import refuse_unwritable
    from surecut.io.table import read_meta
    from surecut.measures import as_measure

    target = chosen_target(at_least, max_drop, max_drop_abs, agreement)
    weight = chosen_fusion(fusion)
    chosen = {
        "measure": measure,
        "target": target,
        "confidence": chosen_confidence(confidence),
        "rule": rule,
        "test": test,
        "tail": tail,
        "min_keep": min_keep,
        "max_keep": max_keep,
        "depth": depth,
        "fusion": weight,
        "tune_fraction": tune_fraction,
        "fit_on_calibration": fit_on_calibration,
        "procedure": procedure,
        "grid": grid,
        "if_unreachable": if_unreachable,
    }
    if output is not None:
        refuse_unwritable(output)
    resolve(**chosen)  # type: ignore[arg-type]  # a wrong word is refused before anything is read
    runs_on = chosen_runner(runner, address)
    reading: dict[str, Any] = {"missing_reranker": missing_reranker, "absent": absent, "groups": groups_in(groups)}
    with watching() as watch:
        on: dict[str, Any] = {"depth": depth, "runner": runs_on, "watch": watch}
        data = open_data(retriever, reranker, qrels, table, **reading, **on)
        tune = open_tuning(tune_table, missing_reranker=missing_reranker, groups=reading["groups"], **on)
        choices = resolve(**chosen, grouped=data.groups is not None)  # type: ignore[arg-type]
        watch.stage("calibrating")
        found = calibrated(choices, data, tune, as_measure(measure))
        certificate = found.certificate()
        counts = census(data, found.prepared.reduced, target.kind != "agreement")
    if output is not None:
        certificate.save(output)
    if json:
        print_json({"certificate": {**certificate.to_dict(), "digest": certificate.digest}, "data": counts})
    else:
        print_certificate(certificate, ms_per_pair)
        print_census(counts)
        if output is None:
            err.print("not saved: add -o cert.json to keep it", style="dim")
        else:
            scored = table is not None and run_in(table) is None and "recipe" in read_meta(table)
            use = "rank {} RECIPE.toml --query ..." if scored else "prune {} --retriever RUN -o pruned.run"
            hint = "" if certificate.status == "abstained" else f"; apply it with: surecut {use.format(output)}"
            err.print(f"written to {output}{hint}", style="dim", soft_wrap=True, markup=False)
    raise typer.Exit(EXIT[certificate.status])
