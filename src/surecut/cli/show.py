"""surecut show"""

from typing import TYPE_CHECKING, Annotated

import typer

from surecut.cli import options as o
from surecut.errors import InputError

if TYPE_CHECKING:
    from surecut.certificate import Certificate

HELP = """A certificate in words.

Example: surecut show cert.json
"""


def show(
    certificate: o.CertificatePath,
    latex: Annotated[
        bool, typer.Option("--latex", help="One row for a LaTeX table.", rich_help_panel=o.OUTPUT)
    ] = False,
    ms_per_pair: o.MsPerPair = None,
    json: o.Json = False,
) -> None:
    from surecut.cli.loading import load, signer_in_words
    from surecut.cli.printing import out, print_certificate, print_json, print_text

    if json and latex:
        raise InputError("--json and --latex are both given: leave one out")
    loaded = load(certificate)
    if json:
        signed = {} if loaded.signature is None else {"signature": loaded.signature.to_json()}
        print_json({**loaded.to_dict(), "digest": loaded.digest, **signed})
    elif latex:
        print_text(latex_row(loaded) + "\n")
    else:
        print_certificate(loaded, ms_per_pair)
        holds = loaded.status in ("certified", "relaxed-target")
        out.print("[bold]It holds as long as[/]" if holds else "[bold]One that certifies would hold as long as[/]")
        for assumption in loaded.assumptions:
            out.print(f"- {assumption}", markup=False)
        out.print(f"digest {loaded.digest}, data {loaded.calibration['fingerprint']}", style="dim")
        out.print(f"signature: {signer_in_words(loaded)}", style="dim")


def latex_row(certificate: "Certificate") -> str:
    """rule & measure & target & confidence & measured & mean kept & speed-up."""
    facts = certificate.calibration
    cells = (
        certificate.rule["name"],
        certificate.measure,
        f"{certificate.target['kind'].replace('_', ' ')} {certificate.target['value']:g}",
        f"{certificate.confidence:g}",
        certificate.status,
        f"{facts['mean_pruned']:.3f}",
        f"{certificate.mean_kept:.1f}",
        f"{certificate.speedup:.1f}$\\times$",
    )
    return " & ".join(str(cell).replace("_", r"\_").replace("%", r"\%") for cell in cells) + r" \\"
