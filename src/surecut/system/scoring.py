"""From a recipe to a score table: retrieve, rerank, write block by block, report."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from surecut.errors import InputError
from surecut.runners import LOCAL, Runner
from surecut.system.cache import cache_folder, digest, locked
from surecut.system.collection import Queries
from surecut.system.growing import GrowingTable
from surecut.system.isolating import Failure
from surecut.system.libraries import versions_behind
from surecut.system.quality import quality
from surecut.system.recipe import Recipe, read_recipe
from surecut.system.retrievers import indexed
from surecut.system.runs import RunFile
from surecut.system.scorer import Scorer, Task, refused_queries
from surecut.system.searching import Searcher, search_groups
from surecut.system.texts import TextStore
from surecut.version import __version__
from surecut.watching import SILENT, Watch


def score(recipe: Recipe | str | Path, folder: str | Path, watch: Watch = SILENT, runner: Runner = LOCAL) -> "Report":
    """Fill a score table by a recipe; one that was interrupted goes on where it was.

    What a model fails on does not stop the others: such a pair has no reranker score in the table, and what could not
    be scored is named in the report and in the table's files `*.failed.json`.

    >>> score("recipe.toml", "scores/mine")  # doctest: +SKIP

    Args:
        recipe: The system: its collection, retriever and reranker, or the file that describes it.
        folder: Where the table is made; one begun with another recipe is refused.
        watch: Hears of the progress.
        runner: Who computes: this machine, or a `Ray` cluster, on which a model gives the scores that it gives here on
            the same kind of hardware.
    """
    recipe = recipe if isinstance(recipe, Recipe) else read_recipe(recipe)
    folder = Path(folder)
    lock = cache_folder() / "locks" / digest(str(folder.resolve()))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written ({error.strerror or error})") from None
    try:
        with locked(lock, busy=f"{folder}: another surecut score is writing this table"):
            return _score(recipe, folder, watch, runner)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror or error}") from None


@dataclass(frozen=True)
class Report:
    """What a user should know of the scores: notes, and what models failed on."""

    notes: Sequence[str]
    failures: Sequence[Failure]


def _score(recipe: Recipe, folder: Path, watch: Watch, runner: Runner) -> Report:
    queries, documents = recipe.collection.queries, _documents(recipe, watch)
    _refuse_other_judgements(recipe, documents)
    plan = _plan(recipe, queries, documents)
    libraries = versions_behind(recipe.retriever, recipe.reranker)
    table = GrowingTable(folder, plan, len(queries), recipe.depth, recipe.reranker.pairs_per_block, libraries)
    shelf = cache_folder().resolve() / "found" / digest(str(folder.resolve()))
    if not table.begun:
        shutil.rmtree(shelf, ignore_errors=True)  # of another table, that was made here and removed
    table.open()
    cut = 0
    if not table.finished:
        cut = _Job(table, recipe, queries, documents, watch, runner).fill(shelf)
    if not table.finished or _described_otherwise(table, recipe, queries):
        _finish(table, recipe, queries, documents)
    table.tidy()
    shutil.rmtree(shelf, ignore_errors=True)
    return Report(recipe.reranker.notes(cut), table.failures())


def _documents(recipe: Recipe, watch: Watch) -> TextStore:
    watch.stage("reading the documents")
    return recipe.collection.documents


def _refuse_other_judgements(recipe: Recipe, documents: TextStore) -> None:
    """Judgements of which no document is in the collection were made for another one."""
    qrels = recipe.collection.qrels
    if qrels is not None and not (documents.numbers(qrels["doc_id"].unique()) >= 0).any():
        raise InputError(
            f"{recipe.collection.source.name}: none of the judged documents is in the collection "
            f"('{qrels['doc_id'][0]}' for one); do the ids match?"
        )


def _plan(recipe: Recipe, queries: Queries, documents: TextStore) -> dict[str, Any]:
    """What a table is made of: another plan is another table."""
    runs = [stage.content for stage in (recipe.retriever, recipe.reranker) if isinstance(stage, RunFile)]
    return {
        "depth": recipe.depth,
        "documents": documents.fingerprint,
        "queries": digest(list(queries.ids), list(queries.texts)),
        "retriever": recipe.retriever.fingerprint,
        "reranker": recipe.reranker.fingerprint,
        **({"runs": runs} if runs else {}),
    }


@dataclass(frozen=True, eq=False)
class _Job:
    """A table that grows, with what it grows by."""

    table: GrowingTable
    recipe: Recipe
    queries: Queries
    documents: TextStore
    watch: Watch
    runner: Runner

    def fill(self, shelf: Path) -> int:
        """Score what is missing; returned is how many documents had to be cut."""
        missing, cut = self.table.missing(), 0
        if missing:
            refused = refused_queries(self.recipe.reranker, self.queries)
            self.runner.start(self.watch)
            self.recipe.reranker.prepare(self.documents, self.watch, self.runner)
            groups = self.table.groups()
            tasks = [Task(groups[block.number], range(block.start, block.end)) for block in missing]
            found = self._search(list(dict.fromkeys(task.group for task in tasks)), shelf)
            self.watch.stage(
                "scoring queries", len(self.queries), len(self.queries) - sum(len(task.queries) for task in tasks)
            )
            together = list(dict.fromkeys(groups))
            scorer = Scorer(self.recipe.reranker, self.queries, self.documents.folder, found, together, refused)
            for place, scored in self.runner.infer(scorer, tasks):
                self.table.write(missing[place], scored.rows, scored.failures)
                cut += scored.cut
                self.watch.advance(len(tasks[place].queries), scored.rows.height)
        self.table.gather()
        return cut

    def _search(self, groups: Sequence[range], shelf: Path) -> Path:
        """The folder on the shelf that holds what was found for these groups; another index finds something else."""
        retriever = self.recipe.retriever
        index = indexed(retriever, self.documents, self.watch, self.runner)
        lost = retriever.failures(self.documents, index)
        self.table.keep_documents(lost)
        found = shelf / digest(self.table.plan, index.name, [each.to_json() for each in lost])
        searcher = Searcher(retriever, self.queries, self.documents.folder, index, self.recipe.depth)
        search_groups(searcher, groups, found, self.watch, self.runner)
        return found


def _described_otherwise(table: GrowingTable, recipe: Recipe, queries: Queries) -> bool:
    """The same scores under another name, with another fusion or other judgements."""
    meta = table.meta()
    return meta.get("recipe") != recipe.text or meta.get("judgements") != _hash(_judgements(recipe, queries))


def _judgements(recipe: Recipe, queries: Queries) -> pl.DataFrame | None:
    qrels = recipe.collection.qrels
    if qrels is None:
        return None
    return qrels.filter(pl.col("query_id").is_in(list(queries.ids))).sort("query_id", "doc_id")


def _hash(qrels: pl.DataFrame | None) -> str | None:
    return None if qrels is None else digest(qrels.write_csv())


def _finish(table: GrowingTable, recipe: Recipe, queries: Queries, documents: TextStore) -> None:
    qrels = _judgements(recipe, queries)
    found = sum(rows["query_id"].n_unique() for rows in table.rows())
    if not found:
        raise InputError(f"{recipe.path}: nothing was retrieved for any of the {len(queries):,} queries")
    table.finish(
        qrels,
        {
            "surecut": __version__,
            "name": recipe.name,
            "recipe": recipe.text,
            "depth": recipe.depth,
            "queries": len(queries),
            "queries_without_candidates": len(queries) - found,
            "judged_queries_without_text": recipe.collection.judged_without_text,
            "documents": len(documents),
            "fingerprints": {part: table.plan[part] for part in ("retriever", "reranker", "documents", "queries")},
            "judgements": _hash(qrels),
            **({"failed": len(failures)} if (failures := table.failures()) else {}),
            "quality": quality(table.rows, qrels, recipe.fusion),
        },
    )
