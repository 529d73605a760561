"""surecut verify"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from surecut.cli import options as o

if TYPE_CHECKING:
    from surecut.certificate import Certificate
    from surecut.verifying import Verification

HELP = """Make a certificate again from its data, and say whether it is the same in everything it says.

Give the data, and the options about data and tuning, that it was made with; the certificate itself says the rest.

Example: surecut verify cert.json --retriever bm25.run --reranker mono.run --qrels qrels.txt

Exit status: 0 the same (last digits of figures aside), 1 something differs, or these are other data, 2 bad input.
"""

Keep = Annotated[
    int | None,
    typer.Option(
        "--keep",
        metavar="N",
        help="The cut that was assessed; needed only where it abstained.",
        rich_help_panel=o.METHOD,
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget",
        metavar="N",
        help="The mean budget that was assessed; needed only where it abstained.",
        rich_help_panel=o.METHOD,
    ),
]
AnySystem = Annotated[
    bool,
    typer.Option(
        "--any-system",
        help="Leave out which retriever and reranker the data name.",
        rich_help_panel=o.DATA,
    ),
]


def verify(
    certificate: o.CertificatePath,
    retriever: o.Retriever = None,
    reranker: o.Reranker = None,
    qrels: o.Qrels = None,
    table: o.Table = None,
    depth: o.Depth = None,
    missing_reranker: o.MissingReranker = "error",
    absent: o.Absent = "skip",
    groups: o.Groups = None,
    tune_table: o.TuneTable = None,
    tune_fraction: o.TuneFraction = 0.2,
    max_keep: o.Cap = None,
    keep: Keep = None,
    budget: Budget = None,
    any_system: AnySystem = False,
    json: o.Json = False,
) -> None:
    from surecut import verifying
    from surecut.cli.loading import groups_in, load, open_data, open_tuning, refuse_two_pipes
    from surecut.cli.printing import print_json
    from surecut.cli.watching import watching

    refuse_two_pipes(certificate, retriever, reranker, qrels)
    loaded = load(certificate)
    reading: dict[str, Any] = {"missing_reranker": missing_reranker, "absent": absent, "groups": groups_in(groups)}
    with watching() as watch:
        data = open_data(retriever, reranker, qrels, table, depth=depth, watch=watch, **reading)
        tuning: dict[str, Any] = {"missing_reranker": missing_reranker, "groups": reading["groups"]}
        tune = open_tuning(tune_table, depth=depth, watch=watch, **tuning)
        watch.stage("calibrating again")
        found = verifying.verify(
            loaded,
            data,
            depth=depth,
            tune=tune,
            tune_fraction=tune_fraction,
            max_keep=max_keep,
            keep=keep,
            budget=budget,
            any_system=any_system,
        )
    if json:
        signed_with = None if loaded.signature is None else loaded.signature.key.fingerprint
        print_json({"digest": loaded.digest, "signed_with": signed_with, **found.to_dict()})
    else:
        _print(loaded, found)
    raise typer.Exit(0 if found.same else 1)


def _print(certificate: "Certificate", found: "Verification") -> None:
    """What was claimed, what was found, and how they differ."""
    from rich.table import Column, Table
    from rich.text import Text

    from surecut.cli.loading import signer_in_words
    from surecut.cli.printing import out, threshold_in_words

    rows, verdict = (Table.grid(Column(min_width=9), Column(), padding=(0, 2)) for _ in range(2))
    rows.add_row("claimed", Text(certificate.statement))
    rows.add_row("signature", signer_in_words(certificate))
    if found.again is not None:
        facts = found.again.calibration
        rows.add_row("data", f"{facts['queries']:,} queries, fingerprint {facts['fingerprint']}")
        rows.add_row("again", f"{found.again.status}, {threshold_in_words(found.again)}, digest {found.again.digest}")
    out.print(rows)
    if found.differences:
        columns = (
            Column("differs", no_wrap=True),
            Column("certified", overflow="fold"),
            Column("found", overflow="fold"),
        )
        table = Table(*columns, box=None, pad_edge=False)
        for each in found.differences:
            table.add_row(Text(each.field), *(Text(cell) for cell in _cells(each.certified, each.found)))
        out.print(table)
    colour, word = ("green", "verified") if found.same else ("red", "contradicted")
    verdict.add_row("verdict", Text.assemble((word, colour), f": {found.reason}"))
    out.print(verdict)


def _cells(certified: Any, found: Any) -> tuple[str, str]:
    """Two values as short as they can be told apart."""
    pair = [f"{each:.6g}" if isinstance(each, float) else _plain(each) for each in (certified, found)]
    return (pair[0], pair[1]) if pair[0] != pair[1] else (repr(certified), repr(found))


def _plain(value: Any) -> str:
    return "-" if value is None else str(value)
