"""Texts a second: surecut's ONNX path against sentence-transformers, the same model, the same texts, in one run."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.timing import fastest
from surecut.system.models.encoder import BiEncoder

_TOKENS = 256  # what sentence-transformers takes of a text; the ONNX folder says nothing of its own limit


@dataclass(frozen=True)
class Rates:
    """Texts a second of both ways."""

    what: str
    texts: int
    onnx: float
    library: float

    @property
    def ratio(self) -> float:
        return self.onnx / self.library


def compare(models: Path, what: str, texts: list[str]) -> Rates | None:
    """all-MiniLM-L6-v2 both ways; nothing where torch is not installed."""
    if find_spec("sentence_transformers") is None:
        return None
    onnx = BiEncoder(str(models / "all-MiniLM-L6-v2-onnx"), pooling="mean", normalise=True, max_length=_TOKENS)
    library = BiEncoder(str(models / "all-MiniLM-L6-v2"), max_length=_TOKENS)
    ours, theirs = fastest(lambda: onnx.documents(texts), lambda: library.documents(texts), repeats=3)
    return Rates(what, len(texts), len(texts) / ours, len(texts) / theirs)
