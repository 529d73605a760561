"""Every shipped recipe is one that surecut takes, and docs/recipes.md says everything that a recipe may."""

import json
import re
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from surecut.errors import InputError
from surecut.measures import as_measure
from surecut.system.models import encoder, sparse
from surecut.system.models.folder import ModelFiles
from surecut.system.recipe import CollectionSection, FusionSection, Recipe, read_recipe
from surecut.system.rerankers import RERANKERS, cross_encoder
from surecut.system.retrievers import RETRIEVERS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "recipes.md"
RECIPES = sorted((ROOT / "recipes").rglob("*.toml"))
PAPER = {
    f"{collection}/{first}-{second}"
    for collection in ("msmarco", "quora")
    for first in ("bm25", "dpr", "unicoil")
    for second in ("monobert", "monoelectra")
}
LOCAL = {
    f"{collection}/{system}"
    for collection in ("quora-duplicates", "nfcorpus", "scifact")
    for system in ("bm25-minilm", "bm25-bge", "minilm6-minilm", "bge-minilm")
}
SECTIONS = {"collection": CollectionSection, "fusion": FusionSection} | {
    f"{what} {kind}": made
    for what, kinds in (("retriever", RETRIEVERS), ("reranker", RERANKERS))
    for kind, made in kinds.items()
}


def options(section: type) -> list[str]:
    """The keys that a recipe may set in a section."""
    return [each.name for each in fields(section) if each.init and not each.name.startswith("_")]


def system_of(path: Path) -> str:
    return path.relative_to(ROOT / "recipes").with_suffix("").as_posix()


@pytest.fixture
def anywhere(monkeypatch, tmp_path):
    """Reads recipes where there is no data and no hub: every model is one folder with a tokenizer and nothing else."""
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.models.WordLevel({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}, unk_token="[UNK]")
    tokenizers.Tokenizer(words).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 512}))
    for module in (cross_encoder, encoder, sparse):
        monkeypatch.setattr(module, "find_model", lambda *_, **__: ModelFiles(tmp_path, None, tmp_path))
    for variable in ("SURECUT_DATA", "SURECUT_MODELS"):
        monkeypatch.setenv(variable, str(tmp_path / variable))


def test_the_systems_of_the_paper_and_the_local_ones_are_all_there():
    assert {system_of(path) for path in RECIPES} == PAPER | LOCAL | {"msmarco/run-files"}


@pytest.mark.parametrize("path", RECIPES, ids=system_of)
def test_surecut_takes_every_recipe(path, anywhere):
    recipe = read_recipe(path)
    assert recipe.name != path.stem, "a shipped recipe has a name of its own"
    assert recipe.fusion.beta == "fit"
    assert as_measure(recipe.fusion.measure)
    assert recipe.depth >= 100


def test_a_length_that_a_model_does_not_take_would_be_noticed(anywhere, tmp_path):
    written = (ROOT / "recipes" / "scifact" / "bm25-minilm.toml").read_text(encoding="utf-8")
    (tmp_path / "long.toml").write_text(written.replace("max_length = 256", "max_length = 513"), encoding="utf-8")
    with pytest.raises(InputError, match="max_length = 513"):
        read_recipe(tmp_path / "long.toml")


def test_the_systems_of_the_paper_are_as_deep_as_the_paper(anywhere):
    for path in RECIPES:
        if system_of(path) in PAPER:
            assert read_recipe(path).depth == 1000


@pytest.mark.parametrize("line", ['stemer = "porter"', 'k1 = "0.9"', 'kind = "bm26"', "b = true"])
def test_a_slip_in_a_recipe_would_be_noticed(line, anywhere, tmp_path):
    key = line.split(" ")[0]
    written = (ROOT / "recipes" / "quora" / "bm25-monobert.toml").read_text(encoding="utf-8")
    head, retriever, tail = re.split(r"(?<=\[retriever\]\n)([^\[]*)", written, maxsplit=1)
    kept = "".join(each for each in retriever.splitlines(keepends=True) if not each.startswith(f"{key} "))
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(f"{head}{line}\n{kept}{tail}", encoding="utf-8")
    with pytest.raises(InputError, match=rf"\[retriever\].*{key}"):
        read_recipe(wrong)


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS.keys())
def test_the_page_names_every_option(section):
    page = PAGE.read_text(encoding="utf-8")
    for name in options(section):
        assert f"| `{name}` |" in page, f"docs/recipes.md says nothing of {name}"


def test_the_page_names_every_kind_and_every_top_level_key():
    page = PAGE.read_text(encoding="utf-8")
    for what, kinds in (("retriever", RETRIEVERS), ("reranker", RERANKERS)):
        for kind in kinds:
            assert f'[{what}] kind = "{kind}"' in page, f"docs/recipes.md says nothing of {what} {kind}"
    for key in ("name", "depth"):
        assert f"| `{key}` |" in page


def test_the_page_names_no_option_that_is_not_there():
    known = {name for section in SECTIONS.values() for name in options(section)} | {"name", "depth", "kind"}
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \| [^|]+ \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == known


def test_the_page_gives_every_default():
    """A row's default is what the dataclass says, under the heading of that section."""
    parts = re.split(r"^##+ ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for title, section in SECTIONS.items():
        text = next(part for part in parts if _belongs(part.splitlines()[0], title))
        for each in fields(section):
            if each.name not in options(section):
                continue
            row = re.search(rf"^\| `{each.name}` \| [^|]+ \| ([^|]+) \|", text, re.MULTILINE)
            assert row is not None, f"{title}: {each.name}"
            assert row[1].strip() == _shown(each), f"{title}: {each.name}"


def _belongs(heading: str, title: str) -> bool:
    what, _, kind = title.partition(" ")
    return f"[{what}]" in heading and (not kind or f'"{kind}"' in heading)


def _shown(each) -> str:
    if each.default is MISSING:
        return "required"
    return "none" if each.default is None else f"`{json.dumps(each.default)}`"


def test_every_block_of_the_page_parses():
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        tomllib.loads(block)


def test_every_whole_recipe_of_the_page_is_taken(anywhere, tmp_path):
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    whole = [block for block in blocks if "[reranker]" in block and "[collection]" in block]
    assert whole
    for number, block in enumerate(whole):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        assert isinstance(read_recipe(path), Recipe)


def test_recipes_name_no_place_of_one_machine():
    for path in (*RECIPES, PAGE):
        assert re.findall(r'"(/[^"]*)"', path.read_text(encoding="utf-8")) == [], path.name
