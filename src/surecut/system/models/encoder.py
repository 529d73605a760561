"""Bi-encoders: a text becomes a vector, whatever it is compared with."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from surecut.arrays import Array, Float32
from surecut.errors import InputError, Unscorable
from surecut.extras import needed
from surecut.system.cache import digest
from surecut.system.describing import Described
from surecut.system.models.batches import Model, refuse_batch_size, run
from surecut.system.models.folder import ModelFiles, find_model, read_json
from surecut.system.models.onnx import OnnxModel
from surecut.system.models.tokens import Batch, Tokenizer

Pooling = Literal["auto", "cls", "mean", "max"]
_VOCABULARIES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
Encode = Callable[[Sequence[str]], Float32]


@dataclass
class BiEncoder(Described):
    """Options that every bi-encoder has: DPR, sentence-transformers, bge, e5, ..."""

    model: str
    query_model: str | None = None  # where queries have an encoder of their own, as in DPR
    tokenizer: str | None = None  # where the model's own folder has none
    file: str | None = None
    pooling: Pooling = "auto"
    normalise: bool | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    max_length: int | None = None
    batch_size: int | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        refuse_batch_size(self.batch_size)
        _ = self._of_documents, self._of_queries

    @cached_property
    def document_fingerprint(self) -> str:
        """What the documents' vectors depend on."""
        return digest("vectors", self._of_documents.fingerprint, self.document_prefix)

    @cached_property
    def encoder_fingerprint(self) -> str:
        """What a score depends on: both encoders."""
        return digest(self.document_fingerprint, self._of_queries.fingerprint, self.query_prefix)

    @property
    def libraries(self) -> tuple[str, ...]:
        return *self._of_documents.libraries, *self._of_queries.libraries

    def load_models(self) -> None:
        """Load what queries need now, not with the first one."""
        self._of_queries.load()

    def documents(self, texts: Sequence[str]) -> Float32:
        return self._of_documents.encode([self.document_prefix + text for text in texts])

    def queries(self, texts: Sequence[str]) -> Float32:
        return self._of_queries.encode([self.query_prefix + text for text in texts])

    @cached_property
    def _of_documents(self) -> "TextEncoder":
        return TextEncoder(find_model(self.model, self.file, self.tokenizer), self)

    @cached_property
    def _of_queries(self) -> "TextEncoder":
        if self.query_model is None:
            return self._of_documents
        return TextEncoder(find_model(self.query_model, self.file, self.tokenizer), self)


class TextEncoder:
    """One model folder as a function from texts to vectors."""

    def __init__(self, files: ModelFiles, options: BiEncoder) -> None:
        self._files = files
        self._options = options
        self._by_library = _needs_library(files, options)
        self.max_length = files.longest_text(options.max_length)
        self.normalise = _normalises(files.folder) if options.normalise is None else options.normalise
        self._tokenizer = self._own_tokenizer()
        self.pooling = options.pooling if options.pooling != "auto" else _pooling(files.folder)

    def _own_tokenizer(self) -> Tokenizer | None:
        """None where sentence-transformers has its own; without any, it would invent one and encode noise."""
        if not self._by_library:
            return Tokenizer.from_folder(self._files.words, self.max_length)
        if not any(path.name in _VOCABULARIES for path in self._files.folder.rglob("*")):
            raise InputError(f"{self._files.folder}: no tokenizer ({', '.join(_VOCABULARIES[:2])}, ...)")
        return None

    @cached_property
    def fingerprint(self) -> str:
        files = replace(self._files, graph=None) if self._by_library else self._files
        return digest(
            files.fingerprint(),
            self.max_length,
            self.pooling,
            self.normalise,
            *(["library"] if self._by_library else []),
        )

    @property
    def libraries(self) -> tuple[str, ...]:
        return *self._files.libraries, *(["sentence-transformers"] if self._by_library else [])

    def encode(self, texts: Sequence[str]) -> Float32:
        """One vector a text."""
        vectors = self._encode(texts).astype(np.float32)
        if not np.isfinite(vectors).all():
            raise Unscorable(f"{self._files.folder}: gave a vector that holds no numbers")
        if self.normalise:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
        return vectors

    @cached_property
    def _encode(self) -> Encode:
        if self._tokenizer is None:
            return self._sentence_transformers()
        tokenizer, network = self._tokenizer, self._network()
        return lambda texts: run(network, tokenizer.texts(texts), self._pool)

    def load(self) -> None:
        """Load the model now, not with the first text."""
        _ = self._encode

    def _network(self) -> Model:
        if self._files.graph is not None:
            return OnnxModel(self._files.graph, self._options.batch_size)
        from surecut.system.models.torch import load_encoder

        return load_encoder(self._files.folder, self._options.batch_size, self._options.device)

    def _sentence_transformers(self) -> Encode:
        from surecut.system.models.torch import explained, placed, quietly

        library = needed("sentence_transformers", "torch")
        folder = self._files.folder
        loaded = quietly(lambda: library.SentenceTransformer(str(folder), device="cpu"), folder)
        _, model = placed(loaded, self._options.device)
        model.max_seq_length = self.max_length
        size = self._options.batch_size or 32

        def encode(texts: Sequence[str]) -> Float32:
            with explained(folder):
                return model.encode(list(texts), batch_size=size, show_progress_bar=False, convert_to_numpy=True)  # type: ignore[no-any-return]

        return encode

    def _pool(self, states: Array, batch: Batch) -> Array:
        """From one state a token to one vector; a network that gives one vector a text has pooled already."""
        if states.ndim == 2 and states.shape[1] <= 2:
            raise InputError(
                f"{self._files.folder}: gives {states.shape[1]} numbers a text; this is a classifier, not an encoder"
            )
        if states.ndim == 2:
            return states
        if self.pooling == "cls":
            return states[:, 0]
        inside: Array = batch.mask[:, :, None].astype(bool)
        if self.pooling == "max":
            return np.asarray(np.where(inside, states, -np.inf).max(axis=1))
        if self.pooling == "mean":
            return np.asarray((states * inside).sum(axis=1) / inside.sum(axis=1))
        raise InputError(f'{self._files.folder}: does not say how to pool its states; set pooling = "cls" or "mean"')


def _pooling(folder: Path) -> Pooling:
    """What a sentence-transformers folder says of itself."""
    found = read_json(folder / "1_Pooling" / "config.json")
    for mode, name in (("cls_token", "cls"), ("mean_tokens", "mean"), ("max_tokens", "max")):
        if found.get(f"pooling_mode_{mode}") or found.get("pooling_mode") == name:
            return name  # type: ignore[return-value]
    return "auto"


def _needs_library(files: ModelFiles, options: BiEncoder) -> bool:
    """sentence-transformers runs a folder of its own; surecut where an ONNX file or an option asks for another way."""
    steps = _steps(files.folder)
    asked_otherwise = (
        options.file is not None
        or options.tokenizer is not None
        or options.pooling != "auto"
        or options.normalise is False
    )
    odd = steps - {"Transformer", "Pooling", "Normalize"}
    if odd and asked_otherwise:
        raise InputError(
            f"{files.folder}: has a step {min(odd)}, which only sentence-transformers takes: leave out file, "
            "tokenizer, pooling and normalise"
        )
    return bool(odd) or (bool(steps) and files.graph is None and not asked_otherwise)


def _normalises(folder: Path) -> bool:
    return "Normalize" in _steps(folder)


def _steps(folder: Path) -> set[str]:
    """The modules that a sentence-transformers folder lists."""
    path = folder / "modules.json"
    if not path.is_file():
        return set()
    try:
        return {str(step["type"]).rpartition(".")[2] for step in json.loads(path.read_text(encoding="utf-8"))}
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(f"{path}: not a list of modules") from None
