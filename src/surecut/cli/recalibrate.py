"""surecut recalibrate"""

from pathlib import Path
from typing import Annotated

import typer

from surecut.cli import options as o
from surecut.errors import InputError
from surecut.monitoring import DEFAULT_STORE

HELP = """A new certificate from the fresh feedback of a monitored one, with the same claim, measure and rule.

Looks at the growing feedback are declared when its monitor starts (--first-look N): look i takes the first N 2^(i-1)
complete queries and has delta / 2^i, so that all looks together keep the confidence, whenever you look.

Example: surecut recalibrate cert.json --store monitor.db -o new.json

Exit status: as of calibrate; 2 also where too few complete queries have come in.
"""


def recalibrate(
    certificate: o.CertificatePath,
    store: o.StorePlace = DEFAULT_STORE,
    output: o.CertificateOutput = None,
    look: Annotated[
        int | None,
        typer.Option(
            "--look",
            metavar="I",
            min=1,
            help="Which look to take; the last one there is data for, if not given.",
            rich_help_panel=o.METHOD,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Write the queries it rests on there, as a score table for verify and report.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    from surecut.cli.loading import load, working
    from surecut.cli.printing import EXIT, err, print_certificate, print_json
    from surecut.files import refuse_no_folder, refuse_overwriting, refuse_unwritable
    from surecut.io.table import write_table
    from surecut.monitoring import recalibrating
    from surecut.monitoring.monitor import Monitor
    from surecut.monitoring.store import Store

    if output is not None:
        refuse_unwritable(output)
        refuse_overwriting(output, certificate)
    if data is not None:
        refuse_no_folder(data)
        if data.exists() and any(data.iterdir()):
            raise InputError(f"{data}: there is something in it already: name a new folder")
    monitor = Monitor(load(certificate), Store(store, create=False))
    with working("calibrating"):
        found, queries = recalibrating.recalibrate(monitor, look)
    if data is not None:
        write_table(queries, data)
    if output is not None:
        found.save(output)
        err.print(f"written to {output}; it is watched on its own: surecut monitor start", style="dim", soft_wrap=True)
    if json:
        print_json({**found.to_dict(), "digest": found.digest})
    else:
        print_certificate(found)
    raise typer.Exit(EXIT[found.status])
