"""surecut export"""

from pathlib import Path
from typing import Annotated

import typer

from surecut.cli import options as o
from surecut.export import ENGINES
from surecut.export.engine import METRICS

HELP = """A certificate as a search engine's own setting: exactly what was certified, or a refusal.

Example: surecut export cert.json --to elasticsearch

An engine executes a cut of ranks or of scores: calibrate with --rule rank (and --tail append for engines that append
what they do not rerank), or with --rule score --min-keep 0.
"""


def export(
    certificate: o.CertificatePath,
    to: Annotated[str, typer.Option("--to", metavar="ENGINE", help=f"{ENGINES.help()}.", rich_help_panel=o.OUTPUT)],
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="|".join(METRICS),
            help="How vectors are compared (qdrant for a score cut, pgvector): scores are 1 - distance, the inner "
            "product, or minus the distance.",
            rich_help_panel=o.METHOD,
        ),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            "--shards",
            metavar="N",
            min=1,
            help="How many shards the index has, where a window is applied on each (opensearch-rescore, solr).",
            rich_help_panel=o.METHOD,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write it there.", rich_help_panel=o.OUTPUT),
    ] = None,
    json: o.Json = False,
) -> None:
    from surecut.cli.loading import load
    from surecut.cli.printing import err, print_json, print_text
    from surecut.files import refuse_overwriting, refuse_unwritable, write_atomically

    if output is not None:
        refuse_unwritable(output)
        refuse_overwriting(output, certificate)
    loaded = load(certificate)
    snippet = loaded.export(to, metric=metric, shards=shards)
    if not loaded.certified:
        err.print(f"the certificate is {loaded.status}: what it claims is in the comment", style="yellow")
    if output is not None:
        write_atomically(output, snippet.text)
        err.print(f"written to {output}", style="dim", soft_wrap=True, markup=False)
    if json:
        record = {"engine": to, "certificate": loaded.digest, "status": loaded.status}
        print_json({**record, "settings": snippet.settings, "snippet": snippet.text})
    elif output is None:
        print_text(snippet.text)
