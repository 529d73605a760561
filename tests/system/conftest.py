"""One small collection and one model of each kind a session; every test has a cache of its own."""

from types import SimpleNamespace

import pytest

from surecut.io.table import read_table
from surecut.system.collection import Collection
from surecut.system.recipe import read_recipe
from surecut.system.scoring import score
from surecut.system.sources import Beir
from tests.system import making


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Where this test's indexes and vectors go."""
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def beir(tmp_path_factory):
    return making.write_beir(tmp_path_factory.mktemp("collection") / "tiny")


@pytest.fixture
def collection(beir):
    return Collection(Beir(beir))


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Model folders by what they are."""
    root = tmp_path_factory.mktemp("models")
    cross = making.cross_encoder(root / "cross")
    return SimpleNamespace(
        cross=cross,
        other_cross=making.cross_encoder(root / "other-cross", seed=1),
        mono=making.cross_encoder(root / "mono", labels=2),
        int8=making.quantised(root / "int8", cross),
        slow=making.cross_encoder(root / "slow", layers=4),
        bi=making.bi_encoder(root / "bi"),
        unicoil=making.token_weigher(root / "unicoil"),
        splade=making.expander(root / "splade"),
    )


@pytest.fixture
def recipe(tmp_path, beir, models):
    """Write a recipe: BM25 and the tiny cross-encoder on the small collection, unless told otherwise."""

    def write(file="recipe.toml", *, reranker=None, **sections):
        sections.setdefault("collection", f'beir = "{beir}"')
        reranker = reranker or f'kind = "cross-encoder"\nmodel = "{models.cross}"'
        return making.write_recipe(tmp_path / file, reranker=reranker, **sections)

    return write


@pytest.fixture(scope="session")
def scored(tmp_path_factory, beir, models):
    """The recipe of that system and its score table."""
    root = tmp_path_factory.mktemp("scored")
    path = making.write_recipe(
        root / "tiny.toml",
        collection=f'beir = "{beir}"',
        reranker=f'kind = "cross-encoder"\nmodel = "{models.cross}"',
        fusion='[fusion]\nbeta = "fit"',
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SURECUT_CACHE", str(root / "cache"))
        score(read_recipe(path), root / "table")
    return SimpleNamespace(recipe=path, folder=root / "table", data=read_table(root / "table"))


@pytest.fixture
def small_parts(monkeypatch):
    """Three blocks a part."""
    monkeypatch.setattr("surecut.system.growing._ROWS_PER_PART", 1100)
