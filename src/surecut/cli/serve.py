"""surecut serve"""

from pathlib import Path
from typing import Annotated

import typer

from surecut.cli import options as o

HELP = """Serve certificates over HTTP: candidates in, survivors out; with a monitor, is the claim still believed?

Example: surecut serve cert.json --port 8000

Example: surecut serve shop=shop.json help=help.json --monitor monitor.db --fall-back --api-key-file keys.txt

/docs describes the API, /monitor is a live page, /metrics is for Prometheus. A certificate file that changes is
reloaded; a broken one is refused, and the old one stays.
"""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PATIENCE = 5.0  # seconds that a request waits for the monitor's database
_SERVING, _LIMITS, _MONITOR = "Serving", "Limits", "Monitor"


def serve(
    certificates: Annotated[
        list[str], typer.Argument(metavar="cert.json ...", help="Certificates: FILE, or NAME=FILE.")
    ],
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.", rich_help_panel=_SERVING)
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 takes a free one.", rich_help_panel=_SERVING)
    ] = 8000,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            "--api-key-file",
            metavar="FILE",
            envvar="SURECUT_API_KEY_FILE",
            help="Keys that open the service, one a line; without it, it is open.",
            rich_help_panel=_SERVING,
        ),
    ] = None,
    reranker: Annotated[
        str | None,
        typer.Option(
            "--reranker",
            metavar="MODEL|RECIPE.toml",
            help="A cross-encoder of this machine, for /rank: a folder, a name on the hub, or a recipe that has one.",
            rich_help_panel=_SERVING,
        ),
    ] = None,
    log_level: Annotated[
        str,
        typer.Option("--log-level", metavar="debug|info|warning|error", help="Of the log.", rich_help_panel=_SERVING),
    ] = "info",
    max_body: Annotated[
        int, typer.Option("--max-body", metavar="BYTES", min=1, help="Largest body.", rich_help_panel=_LIMITS)
    ] = 8 * 2**20,
    max_queries: Annotated[
        int,
        typer.Option(
            "--max-queries", metavar="N", min=1, max=10_000, help="Most queries a request.", rich_help_panel=_LIMITS
        ),
    ] = 1_000,
    max_candidates: Annotated[
        int,
        typer.Option("--max-candidates", metavar="N", min=1, help="Most candidates a query.", rich_help_panel=_LIMITS),
    ] = 10_000,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            metavar="N",
            min=0.001,
            help="Most requests a second, for each key or address; none if not given.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    monitor: Annotated[
        str | None,
        typer.Option(
            "--monitor",
            metavar="FILE|URL",
            envvar="SURECUT_MONITOR",
            help="Take feedback, into this database: an SQLite file, or postgresql://user@host/name.",
            rich_help_panel=_MONITOR,
        ),
    ] = None,
    observe: Annotated[
        float | None,
        typer.Option(
            "--observe",
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Share of the pruned queries whose scores the monitor compares with those of calibration (0.01, if "
            "there is a monitor).",
            rich_help_panel=_MONITOR,
        ),
    ] = None,
    fall_back: Annotated[
        bool,
        typer.Option(
            "--fall-back",
            help="Prune nothing while the monitor does not believe a certificate.",
            rich_help_panel=_MONITOR,
        ),
    ] = False,
    any_system: o.AnySystem = False,
    any_length: o.AnyLength = False,
) -> None:
    from surecut.cli.loading import load
    from surecut.cli.printing import err
    from surecut.errors import InputError
    from surecut.registry import unknown

    levels = ("debug", "info", "warning", "error")
    if log_level not in levels:
        raise InputError(unknown("log level", log_level, list(levels)))
    if fall_back and monitor is None:
        raise InputError("--fall-back needs to know whether a certificate is believed: give --monitor FILE|URL")
    if observe is not None and monitor is None:
        raise InputError("--observe is for a monitor: give --monitor FILE|URL")
    from surecut.serve.limits import Keys, Limits, read_keys
    from surecut.serve.ranking import LocalReranker
    from surecut.serve.running import run
    from surecut.serve.service import Service
    from surecut.serve.shelf import Shelf, named

    keys = Keys(() if api_key_file is None else read_keys(api_key_file))
    local = host in _LOOPBACK
    if not keys and not local:
        err.print("[yellow]warning:[/] whoever reaches this address may ask: give --api-key-file FILE", soft_wrap=True)
    store = None
    if monitor is not None:
        from surecut.monitoring.store import Store

        store = Store(monitor, patience=_PATIENCE)
    service = Service(
        Shelf(named(certificates), load, any_length=any_length, any_system=any_system),
        Limits(max_body, max_queries, max_candidates, rate),
        keys,
        store,
        None if reranker is None else LocalReranker(reranker),
        fall_back,
        0.01 if observe is None else observe,
        any_system,
        frozenset((*_LOOPBACK, "[::1]")) if local and not keys else None,
    )
    run(service, host, port, log_level)
