"""One scoring job, by the plain path and by Ray on the same processors; and what encoding and retrieval take."""

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.scale.processes import cost
from surecut.system.models.encoder import BiEncoder
from surecut.system.recipe import read_recipe
from surecut.system.retrievers import ready
from surecut.system.texts import TextStore

RECIPE = Path(__file__).with_name("system.toml")
_ENCODED = 2_048  # documents


@dataclass(frozen=True)
class Job:
    """The same table, made twice."""

    pairs: int
    local_seconds: float
    ray_seconds: float
    local_bytes: int
    ray_bytes: int

    @property
    def ratio(self) -> float:
        return self.ray_seconds / self.local_seconds


@dataclass(frozen=True)
class Stages:
    """What one document or query takes, on all processors."""

    documents: int
    index_bytes: int
    seconds_a_query: float  # of BM25
    seconds_a_document: float  # of a small bi-encoder
    width: int  # of its vectors


def run_job(root: Path) -> Job:
    """A job of a minute or more; index and collection are there for both."""
    recipe = read_recipe(RECIPE)
    ready(recipe.retriever, recipe.collection.documents)
    scoring = ["-m", "surecut", "score", RECIPE, "-o"]
    local = cost([*scoring, root / "local"])
    by_ray = cost([*scoring, root / "ray", "--runner", "ray"])
    if tables_differ(root / "local", root / "ray"):
        raise RuntimeError("the two runners made different tables")
    pairs = len(recipe.collection.queries) * recipe.depth
    return Job(pairs, local.seconds, by_ray.seconds, local.peak_bytes, by_ray.peak_bytes)


def tables_differ(one: Path, other: Path) -> bool:
    """Is any file of the one not that of the other?"""
    files = [{path.relative_to(root): path.read_bytes() for path in root.rglob("*.*")} for root in (one, other)]
    return files[0] != files[1]


def measure_stages(model: Path, cache: Path) -> Stages:
    recipe = read_recipe(RECIPE)
    documents, queries = recipe.collection.documents, recipe.collection.queries
    ready(recipe.retriever, documents)
    start = time.perf_counter()
    recipe.retriever.search(queries, 1000)
    searching = (time.perf_counter() - start) / len(queries)
    seconds, width = _encoding(BiEncoder(str(model), pooling="cls", normalise=True), documents)
    folders = (cache / "indexes").rglob("*")
    return Stages(
        documents=len(documents),
        index_bytes=sum(path.stat().st_size for path in folders if path.is_file()),
        seconds_a_query=searching,
        seconds_a_document=seconds,
        width=width,
    )


def _encoding(encoder: BiEncoder, documents: TextStore) -> tuple[float, int]:
    texts = documents.texts.take(range(_ENCODED))
    encoder.documents(texts[:64])  # loads the model
    start = time.perf_counter()
    vectors = encoder.documents(texts)
    return (time.perf_counter() - start) / _ENCODED, int(vectors.shape[1])
