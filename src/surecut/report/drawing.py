"""The figures of a report as files: PNG for a pull request, SVG for paper."""

from pathlib import Path

from surecut.errors import InputError
from surecut.extras import needed
from surecut.files import write_atomically
from surecut.report.figures import make_figures
from surecut.report.gathering import Report
from surecut.report.palette import PAPER

_WIDTH = 640
_SHARP = 2.0  # pixels of a PNG a unit, for screens that have them


def write_figures(report: Report, folder: str | Path) -> list[Path]:
    """Write each figure as NAME.png and NAME.svg; the folder is made if need be."""
    convert = needed("vl_convert", "report")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror})") from None
    written = []
    for figure in make_figures(report, PAPER):
        spec = figure.chart.properties(width=_WIDTH, title=figure.title).to_dict()
        for suffix, content in (
            ("png", convert.vegalite_to_png(spec, scale=_SHARP)),
            ("svg", convert.vegalite_to_svg(spec)),
        ):
            path = Path(folder) / f"{figure.name}.{suffix}"
            write_atomically(path, content)
            written.append(path)
    return written
