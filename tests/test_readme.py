"""Every command that the README shows prints what the README says it prints, and every link in it leads somewhere."""

import re
from pathlib import Path

import pytest

from tests.running import VERBS, blocks, commands, is_printed, run, unknown_options

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
EXAMPLES = [each for block in blocks(TEXT) if block.language == "console" for each in commands(block.text)]


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    assert run("surecut demo --files demo", folder).status == 0
    return folder


def test_the_readme_has_examples():
    assert len(EXAMPLES) >= 2


def test_the_commands_of_the_readme_print_what_it_says(demo_folder):
    for each in EXAMPLES:
        done = run(f"{each.line} 2> /dev/null", demo_folder)
        assert done.status == 0
        assert is_printed(each.shown, done.printed), done.printed


def test_every_verb_and_option_of_the_readme_exists():
    assert list(unknown_options(TEXT)) == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_shows_an_example(verb):
    assert f"Example: surecut {verb}" in str(VERBS[verb].help)


def test_every_link_of_the_readme_leads_to_a_file():
    links = [link for link in re.findall(r"\]\(([^)#]+)", TEXT) if "://" not in link]
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
