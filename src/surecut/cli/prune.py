"""surecut prune"""

from typing import Annotated

import typer

from surecut.cli import options as o

HELP = """Apply a certificate to a retriever's run: only the survivors are written, ready for the reranker.

Example: surecut prune cert.json --retriever bm25.run -o pruned.run
"""


def prune(
    certificate: o.CertificatePath,
    retriever: o.Retriever = None,
    table: o.Table = None,
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="RUN",
            help="The pruned run (- is stdout, .gz compresses).",
            rich_help_panel=o.OUTPUT,
        ),
    ] = "-",
    depth: o.Depth = None,
    any_system: o.AnySystem = False,
    any_length: o.AnyLength = False,
    json: o.Json = False,
) -> None:
    import sys

    from surecut.cli.loading import load, refuse_two_pipes, run_in, working
    from surecut.cli.printing import err, print_json, reader_may_leave
    from surecut.errors import InputError
    from surecut.files import refuse_overwriting
    from surecut.io.writing import run_as_trec, write_run
    from surecut.pruning import prune_run

    if (retriever is None) == (table is None):
        raise InputError("give the run as --retriever RUN or as --table DIR")
    if json and output == "-":
        raise InputError("--json prints a summary: name a file for the run with -o")
    refuse_two_pipes(certificate, retriever)
    refuse_overwriting(output, certificate)
    loaded = load(certificate)
    source = retriever if table is None else run_in(table)
    if depth is not None and depth != loaded.depth:
        err.print(
            f"the lists are cut at {depth}; the certificate is about lists of up to {loaded.depth}", style="yellow"
        )
    with working("pruning"):
        if source is None:
            from surecut.certificate import refuse_other_system, same_retriever
            from surecut.io.table import read_table, to_frame

            data = read_table(str(table), depth=depth)
            refuse_other_system(loaded, data.system, any_system)
            any_system = any_system or same_retriever(loaded, data.system)
            run = to_frame(data).rename({"retriever": "score"}).select("query_id", "doc_id", "score")
        else:
            from surecut.io.trec import read_run

            run = read_run(str(source))
        pruned = prune_run(loaded, run, depth=depth, any_length=any_length, any_system=any_system)
        if output != "-":
            write_run(pruned, output)
    queries = run["query_id"].n_unique()
    summary = {
        "queries": queries,
        "candidates": run.height,
        "kept": pruned.height,
        "mean_kept": pruned.height / max(queries, 1),
    }
    if output == "-":
        with reader_may_leave():
            sys.stdout.buffer.write(run_as_trec(pruned))
            sys.stdout.buffer.flush()
    if json:
        print_json(summary)
    else:
        err.print(
            f"{pruned.height:,} of {run.height:,} candidates survive, {summary['mean_kept']:,.1f} a query "
            f"({loaded.status} certificate)",
            style="dim",
        )
