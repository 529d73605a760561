"""Recipes: a TOML file that names a collection, a retriever, a reranker and how they are joined."""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from surecut.errors import InputError
from surecut.fusion import check_fusion
from surecut.io.limits import LARGEST_RECIPE, read_document
from surecut.measures import as_measure
from surecut.registry import unknown
from surecut.system.collection import Collection
from surecut.system.rerankers import RERANKERS, Reranker
from surecut.system.retrievers import RETRIEVERS, Retriever
from surecut.system.retrievers.dense import Dense
from surecut.system.sources import Beir, Files, IrDataset, Source

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_MODELS = ("model", "query_model", "tokenizer")  # folders, or names on the hub
_PATHS = ("beir", "documents", "queries", "qrels", "run")


@dataclass(frozen=True)
class CollectionSection:
    """[collection]: one of beir, ir_datasets, or documents with queries."""

    beir: Path | None = None
    split: str | list[str] | None = None
    ir_datasets: str | None = None
    documents: Path | None = None
    queries: Path | None = None
    qrels: Path | None = None
    sample: int | None = None

    def source(self) -> Source:
        given = [name for name in ("beir", "ir_datasets", "documents") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError("name the collection by one of beir, ir_datasets or documents")
        self._refuse_keys_of_others(given[0])
        if self.split is not None and not self.split:
            raise InputError(f"split = {self.split!r}: name at least one")
        if self.beir is not None:
            split = "test" if self.split is None else self.split
            return Beir(self.beir, [split] if isinstance(split, str) else split)
        if self.ir_datasets is not None:
            return IrDataset(self.ir_datasets)
        if self.documents is None or self.queries is None:
            raise InputError("documents and queries belong together: name both files")
        return Files(self.documents, self.queries, self.qrels)

    def _refuse_keys_of_others(self, chosen: str) -> None:
        """A key that the chosen source does not read would be a silent mistake."""
        for key, belongs in (("split", "beir"), ("queries", "documents"), ("qrels", "documents")):
            if getattr(self, key) is not None and belongs != chosen:
                raise InputError(f"'{key}' belongs to {belongs}, and the collection is named by {chosen}: leave it out")


@dataclass(frozen=True)
class FusionSection:
    """[fusion]: the weight of the retriever in the final score."""

    beta: float | Literal["fit"] = 0.0
    measure: str = "RR@10"

    def __post_init__(self) -> None:
        check_fusion(self.beta)
        as_measure(self.measure)


@dataclass(frozen=True)
class Recipe:
    """A two-stage system, as a file describes it."""

    path: Path
    name: str
    depth: int
    collection: Collection
    retriever: Retriever
    reranker: Reranker
    fusion: FusionSection
    text: Mapping[str, Any]  # as written, variables unexpanded: no path of one machine gets into a table


def read_recipe(path: str | Path) -> Recipe:
    """A recipe from its TOML file, variables filled in; what is wrong in it is named with its section."""
    file = Path(path)
    text = read_document(path, LARGEST_RECIPE)
    try:
        written = tomllib.loads(text)
        sections = _expanded(written, file)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{path}: not TOML ({error})") from None
    except RecursionError:
        raise InputError(f"{path}: not a recipe; it is nested too deep") from None
    _refuse_unknown(sections, ("name", "depth", "collection", "retriever", "reranker", "fusion"), f"{path}")
    for needed in ("collection", "retriever", "reranker"):
        if not isinstance(sections.get(needed), dict):
            raise InputError(f"{path}: no section [{needed}]")
    name, depth = sections.get("name", file.stem), sections.get("depth", 1000)
    if not isinstance(name, str):
        raise InputError(f"{path}: name = {name}: a string is expected")
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
        raise InputError(f"{path}: depth = {depth!r}: a whole number of at least 1 is expected")
    section = _filled(CollectionSection, sections["collection"], f"{path}, [collection]")
    _refuse_sample(section.sample, path)
    retriever = _made(RETRIEVERS, "retriever", sections["retriever"], path)
    if isinstance(retriever, Dense) and retriever.search_by == "hnsw" and retriever.ef_search < depth:
        raise InputError(f"{path}, [retriever]: ef_search = {retriever.ef_search} must be at least the depth, {depth}")
    return Recipe(
        path=file,
        name=name,
        depth=depth,
        collection=Collection(_located(section.source, f"{path}, [collection]"), section.sample),
        retriever=retriever,
        reranker=_made(RERANKERS, "reranker", sections["reranker"], path),
        fusion=_filled(FusionSection, sections.get("fusion", {}), f"{path}, [fusion]"),
        text=written,
    )


def _refuse_sample(sample: int | None, path: str | Path) -> None:
    if sample is not None and sample < 1:
        raise InputError(f"{path}, [collection]: sample = {sample}: at least 1 query is expected")


def _located(make: Callable[[], Any], where: str) -> Any:
    """Run something that reads a section; its complaint names the section."""
    try:
        return make()
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _made(kinds: Mapping[str, type], what: str, section: Mapping[str, Any], path: str | Path) -> Any:
    where = f"{path}, [{what}]"
    kind = section.get("kind")
    if not isinstance(kind, str):
        raise InputError(f"{where}: no kind; known are {', '.join(kinds)}")
    if kind not in kinds:
        raise InputError(f"{where}: {unknown('kind', kind, list(kinds))}")
    return _filled(kinds[kind], {key: value for key, value in section.items() if key != "kind"}, where)


def _filled(kind: type, section: Any, where: str) -> Any:
    """A dataclass from a section: unknown keys, missing ones and wrong types are named."""
    if not isinstance(section, dict):
        raise InputError(f"{where}: a section is expected, not {section!r}")
    known = [each for each in fields(kind) if each.init and not each.name.startswith("_")]
    _refuse_unknown(section, [each.name for each in known], where)
    hints = get_type_hints(kind)
    given = {}
    for each in known:
        if each.name in section:
            given[each.name] = _typed(section[each.name], hints[each.name], f"{where}: {each.name}")
        elif each.default is MISSING and each.default_factory is MISSING:
            raise InputError(f"{where}: '{each.name}' is missing")
    return _located(lambda: kind(**given), where)


def _typed(value: Any, hint: Any, where: str) -> Any:
    """The value as its field's type; a whole number will do for a float, a string for a path."""
    choices = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for choice in choices:
        if get_origin(choice) is Literal:
            if value in get_args(choice):
                return value
        elif choice is Path and isinstance(value, str):
            return Path(value)
        elif choice is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        elif get_origin(choice) is list:
            if isinstance(value, list) and all(isinstance(each, str) for each in value):
                return value
        elif isinstance(choice, type) and isinstance(value, choice) and (choice is bool or not isinstance(value, bool)):
            return value
    raise InputError(f"{where} = {value!r}: {_expected(choices)} is expected")


def _expected(choices: tuple[Any, ...]) -> str:
    names: list[str] = []
    for choice in choices:
        if get_origin(choice) is Literal:
            names += [f"'{each}'" for each in get_args(choice)]
        elif choice is not type(None):
            names.append(
                {str: "a string", int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}.get(
                    choice, "a list of strings"
                )
            )
    return " or ".join(names)


def _refuse_unknown(section: Mapping[str, Any], known: Any, where: str) -> None:
    for key in section:
        if key not in known:
            raise InputError(f"{where}: {unknown('key', key, list(known))}")


def _expanded(value: Any, file: Path, key: str = "") -> Any:
    """${NAME} becomes the environment's value; relative paths as written are taken from the recipe's folder."""
    if isinstance(value, dict):
        return {name: _expanded(each, file, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_expanded(each, file) for each in value]
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise InputError(f"{file}: ${{{match[1]}}} is not set; export {match[1]}=... first")
        return found

    expanded = _VARIABLE.sub(variable, value)
    if value.startswith("${"):
        return expanded  # a relative path in the environment is relative to where the command runs
    is_model = key in _MODELS and (expanded.startswith(".") or (file.parent / expanded).is_dir())
    return str(file.parent / expanded) if key in _PATHS or is_model else expanded
