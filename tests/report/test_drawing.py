"""Figures as files."""

import re
import struct

import pytest

import surecut as sc
from surecut.report.drawing import write_figures
from surecut.report.figures import make_figures
from surecut.report.palette import PAPER
from tests.report.making import CASES, report


@pytest.mark.parametrize("name", ["drop", "several starts", "abstained", "rank", "agreement"])
def test_each_figure_is_a_png_and_an_svg(name, tmp_path):
    written = write_figures(report(name), tmp_path / "new" / "folder")
    assert len(written) == 2 * len(make_figures(report(name), PAPER))
    for path in written:
        content = path.read_bytes()
        if path.suffix == ".png":
            assert content.startswith(b"\x89PNG")
            width, height = struct.unpack(">II", content[16:24])
            assert width > 1000
            assert height > 400
        else:
            text = content.decode()
            assert text.startswith("<svg")
            assert not re.search(r'(?:href|src)="http', text)


def test_the_eye_is_led_to_the_target_not_to_zero(tmp_path):
    written = {path.name: path for path in write_figures(report("several starts"), tmp_path)}
    labels = re.findall(r">([^<>]+)</text>", written["risk-by-threshold.svg"].read_text())
    assert "target 0.35" in labels
    assert "0.000" not in labels


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(sc.InputError, match="cannot be made"):
        write_figures(report("drop"), tmp_path / "file" / "folder")


@pytest.mark.parametrize("name", CASES)
def test_titles_and_words_name_what_the_claim_is_about(name):
    found = report(name)
    for figure in make_figures(found, PAPER):
        assert figure.title
        assert len(figure.description) > 40
        assert all(len(row) == len(figure.columns) for row in figure.rows)
    assert found.quantity.name.split()[-1] in make_figures(found, PAPER)[0].title
