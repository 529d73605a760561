"""A small real search problem that is on every machine: find what a Python function does from its first sentence.

Documents are docstrings without their first paragraph, questions are those paragraphs, and one document is right for
each. The first stage is BM25, the second a cross-encoder. The examples beside this file put a certificate between
them, each in another library.
"""

import argparse
import hashlib
import importlib
import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bm25s

import surecut as sc

DEPTH = 20
CALIBRATED_ON = 300
MODEL = "cross-encoder/ms-marco-MiniLM-L6-v2"
MODULES = """argparse ast asyncio base64 calendar codecs collections configparser contextlib copy csv datetime decimal
difflib email.message enum fractions ftplib functools glob gzip hashlib heapq html http.client imaplib inspect io
ipaddress itertools json locale logging mailbox math multiprocessing numpy numpy.linalg numpy.ma numpy.random operator
optparse os os.path pathlib pdb pickle platform polars polars.selectors posixpath pprint random re scipy.special
selectors shelve shlex shutil smtplib socket sqlite3 ssl statistics string struct subprocess sys sysconfig tarfile
tempfile textwrap threading time tokenize traceback types typing unittest unittest.mock urllib.parse
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

    def __post_init__(self) -> None:
        index = bm25s.BM25()
        index.index(_tokens(list(self.documents.values())), show_progress=False)
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_names", list(self.documents))


def load() -> Docstrings:
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
                if "._" not in where and not where.endswith("hook") and callable(what) and _is_own(what):
                    found[where] = inspect.getdoc(what) or ""
    split = {name: text.split("\n\n", 1) for name, text in found.items()}
    whole = {name: parts for name, parts in split.items() if len(parts) == 2 and min(map(len, parts)) > 30}
    bodies: dict[str, str] = {}  # one document for each text, however many names it has
    for name, (_, body) in whole.items():
        bodies.setdefault(" ".join(body.split())[:240], name)
    drawn = sorted(bodies.values(), key=lambda name: hashlib.sha256(name.encode()).digest())
    asked = {name: " ".join(whole[name][0].split()) for name in drawn}
    return Docstrings({name: body for body, name in bodies.items()}, asked)


def _is_own(what: object) -> bool:
    """Was it there before some other library put it there?"""
    home = (getattr(what, "__module__", None) or "builtins").partition(".")[0]
    return home in sys.stdlib_module_names or home in ("numpy", "polars", "scipy")


def certificate(collection: Docstrings, model: str, path: Path) -> sc.Certificate:
    """A certificate for BM25 and this cross-encoder; made once (minutes), kept in a file."""
    if path.exists():
        return sc.load_certificate(path)
    from sentence_transformers import CrossEncoder

    network = CrossEncoder(model)
    first: dict[str, dict[str, float]] = {}
    second: dict[str, dict[str, float]] = {}
    for name in list(collection.questions)[:CALIBRATED_ON]:
        question = collection.questions[name]
        listed, scores = collection.candidates(question)
        first[name] = dict(zip(listed, scores, strict=True))
        reranked = network.predict([(question, collection.documents[each]) for each in listed])
        second[name] = dict(zip(listed, reranked.tolist(), strict=True))
    qrels = {name: {name: 1} for name in first}
    made = sc.calibrate(sc.Candidates.from_dicts(first, second, qrels), target=sc.max_drop(0.1))
    made.save(path)
    return made


def new_questions(collection: Docstrings, count: int = 3) -> dict[str, str]:
    """Questions that the certificate was not calibrated on."""
    return dict(list(collection.questions.items())[-count:])


def show(question: str, ranked: Sequence[str]) -> None:
    print(f"{question}\n  {len(ranked)} of {DEPTH} reranked; best: {', '.join(ranked[:3])}")


def arguments(description: str | None) -> argparse.Namespace:
    """What every example takes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=MODEL, help="a cross-encoder: a folder, or a name on the model hub")
    parser.add_argument("--certificate", type=Path, help="made if it is not there (docstrings-MODEL.json)")
    given = parser.parse_args()
    given.certificate = given.certificate or Path(f"docstrings-{Path(given.model).name}.json")
    return given


def _tokens(texts: list[str]) -> bm25s.tokenization.Tokenized:
    return bm25s.tokenize(texts, stopwords="en", show_progress=False)
