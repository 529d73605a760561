"""A small real search problem that is on every machine: find what a Python function does from its first sentence.

Documents are docstrings without their first paragraph, questions are those paragraphs, and one document is right for
each. The first stage is BM25 (`pip install 'surecut[bm25]'`); the second is yours: a function from a question and
texts to scores.
"""

import importlib
import inspect
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bm25s

import surecut as sc

DEPTH = 20
MODULES = """argparse ast asyncio base64 calendar codecs collections configparser contextlib copy csv datetime decimal
difflib email.message enum fractions ftplib functools glob gzip hashlib heapq html http.client imaplib inspect io
ipaddress itertools json locale logging mailbox math multiprocessing numpy numpy.linalg numpy.ma numpy.random operator
optparse os os.path pathlib pdb pickle platform polars polars.selectors posixpath pprint random re scipy.special
selectors shelve shlex shutil smtplib socket sqlite3 ssl statistics string struct subprocess sys sysconfig tarfile
tempfile textwrap threading time tokenize traceback turtle types typing unittest unittest.mock urllib.parse
urllib.request uuid weakref webbrowser xml.dom.minidom xml.etree.ElementTree zipfile zoneinfo"""


@dataclass(frozen=True)
class Docstrings:
    """Documents by name, questions by the name of the document that answers them."""

    documents: dict[str, str]
    questions: dict[str, str]

    def candidates(self, question: str) -> tuple[list[str], list[float]]:
        """Names and scores of the first stage, best first."""
        (places,), (scores,) = self._index.retrieve(_tokens([question]), k=DEPTH, show_progress=False)
        return [self._names[place] for place in places], scores.tolist()

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        return {name: {name: 1} for name in self.questions}

    def __post_init__(self) -> None:
        index = bm25s.BM25()
        index.index(_tokens(list(self.documents.values())), show_progress=False)
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_names", list(self.documents))


def load(questions: int | None = None) -> Docstrings:
    """The docstrings of the standard library and of what surecut itself needs."""
    found: dict[str, str] = {}
    for name in MODULES.split():
        module = importlib.import_module(name)
        for label, value in sorted(vars(module).items()):
            members = sorted(vars(value).items()) if inspect.isclass(value) else []
            for where, what in (
                (f"{name}.{label}", value),
                *((f"{name}.{label}.{key}", each) for key, each in members),
            ):
                if "._" not in where and callable(what):
                    found[where] = inspect.getdoc(what) or ""
    split = {name: text.split("\n\n", 1) for name, text in found.items()}
    whole = {name: parts for name, parts in split.items() if len(parts) == 2 and min(map(len, parts)) > 30}
    bodies: dict[str, str] = {}  # one document for each text, however many names it has
    for name, (_, body) in whole.items():
        bodies.setdefault(" ".join(body.split())[:400], name)
    drawn = random.Random(0).sample(list(bodies.values()), questions or len(bodies))
    asked = {name: " ".join(whole[name][0].split()) for name in drawn}
    return Docstrings({name: body for body, name in bodies.items()}, asked)


def certificate(
    collection: Docstrings,
    rerank: Callable[[str, Sequence[str]], Sequence[float]],
    path: str | Path,
    **options: Any,
) -> sc.Certificate:
    """A certificate for BM25 and this reranker; made once, kept in a file."""
    if Path(path).exists():
        return sc.load_certificate(path)
    first: dict[str, dict[str, float]] = {}
    second: dict[str, dict[str, float]] = {}
    for name, question in collection.questions.items():
        listed, scores = collection.candidates(question)
        first[name] = dict(zip(listed, scores, strict=True))
        reranked = rerank(question, [collection.documents[each] for each in listed])
        second[name] = {each: float(score) for each, score in zip(listed, reranked, strict=True)}
    data = sc.Candidates.from_dicts(first, second, collection.qrels)
    made = sc.calibrate(data, **{"target": sc.max_drop(0.05), **options})
    made.save(path)
    return made


def _tokens(texts: list[str]) -> bm25s.tokenization.Tokenized:
    return bm25s.tokenize(texts, stopwords="en", show_progress=False)
