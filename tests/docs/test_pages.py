"""Every page of the documentation shows what its commands print, names what exists, and links to what is there."""

import re
import shutil
from pathlib import Path

import pytest

from tests.running import Player, unknown_options
from tests.system.making import cross_encoder, write_beir, zipped

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COLUMNS = 88
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
PLAYED = PAGES[::2] + PAGES[1::2]  # neighbours are run by one process, and the guides, which take long, are neighbours
MADE_ELSEWHERE = ("real-systems.md", "reproduction.md")
"""Pages that a benchmark writes: their commands need data that does not ship."""


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.fixture
def player(tmp_path, monkeypatch):
    """Plays a page where the collection and the model that shipped recipes name have small stand-ins."""
    home = tmp_path / "home"
    collection = write_beir(home / "data" / "scifact")
    shutil.copy(collection / "qrels" / "test.tsv", collection / "qrels" / "train.tsv")
    zipped(collection, home / "data" / "scifact.zip")
    cross_encoder(home / "models" / "ms-marco-MiniLM-L-12-v2")
    settings = {
        "SURECUT_DATA": str(home / "data"),
        "SURECUT_MODELS": str(home / "models"),
        "SURECUT_CACHE": str(home / "cache"),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "recipes").symlink_to(ROOT / "recipes")
    return Player(folder, COLUMNS, settings)


@pytest.mark.parametrize("page", [page for page in PLAYED if page not in MADE_ELSEWHERE])
def test_a_page_shows_what_its_examples_print(page, player):
    assert "\n\n".join(player.faults(text_of(page))) == ""


@pytest.mark.parametrize("page", PAGES)
def test_every_verb_and_option_of_a_page_exists(page):
    assert list(unknown_options(text_of(page))) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file(page):
    """Anchors, and links between pages, are checked where the site is built."""
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text_of(page)) if "://" not in link]
    assert [link for link in links if not (DOCS / page).parent.joinpath(link).exists()] == []
