"""Sparse encoders: a text becomes weights of word pieces. UniCOIL weighs the text's own, SPLADE adds others."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from surecut.arrays import Array, Float32, Int32, Int64
from surecut.errors import Unscorable
from surecut.system.cache import digest
from surecut.system.describing import Described
from surecut.system.models.batches import Model, refuse_batch_size, run
from surecut.system.models.folder import ModelFiles, find_model
from surecut.system.models.onnx import OnnxModel
from surecut.system.models.tokens import Batch, Tokenizer, Tokens

Kind = Literal["unicoil", "splade"]


@dataclass(frozen=True)
class Weights:
    """Weighted word pieces of several texts, one after the other."""

    ends: Int64
    terms: Int32
    weights: Float32

    @classmethod
    def joined(cls, parts: "Sequence[Weights]") -> "Weights":
        """Texts of several parts, one after the other."""
        counts = np.concatenate([np.diff(part.ends, prepend=0) for part in parts])
        terms, weights = (np.concatenate([getattr(part, each) for part in parts]) for each in ("terms", "weights"))
        return cls(np.cumsum(counts), terms, weights)

    def one_by_one(self) -> "list[Weights]":
        """Each text for itself."""
        borders = [0, *self.ends.tolist()]
        return [
            Weights(np.array([high - low]), self.terms[low:high], self.weights[low:high])
            for low, high in pairwise(borders)
        ]


@dataclass
class SparseModel(Described):
    """Options that UniCOIL and SPLADE share."""

    model: str
    query_model: str | None = None  # where queries have an encoder of their own
    tokenizer: str | None = None  # where the model's own folder has none
    max_length: int | None = None
    batch_size: int | None = None
    device: str | None = None
    kind: ClassVar[Kind]

    def __post_init__(self) -> None:
        refuse_batch_size(self.batch_size)
        _ = self.of_documents, self.of_queries

    @cached_property
    def of_documents(self) -> "SparseEncoder":
        return SparseEncoder(find_model(self.model, tokenizer=self.tokenizer), self)

    @cached_property
    def of_queries(self) -> "SparseEncoder":
        if self.query_model is None:
            return self.of_documents
        return SparseEncoder(find_model(self.query_model, tokenizer=self.tokenizer), self)

    @property
    def libraries(self) -> tuple[str, ...]:
        return *self.of_documents.libraries, *self.of_queries.libraries


class SparseEncoder:
    """One model folder as a function from texts to weights."""

    def __init__(self, files: ModelFiles, options: SparseModel) -> None:
        self._files = files
        self.libraries = files.libraries
        self.kind = options.kind
        self._options = options
        self.tokenizer = Tokenizer.from_folder(files.words, files.longest_text(options.max_length))

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.kind, self._files.fingerprint(), self.tokenizer.max_length)

    def load(self) -> None:
        """Load the model now, not with the first text."""
        _ = self._network

    def documents(self, texts: Sequence[str]) -> Weights:
        """A word piece that is repeated counts with its largest weight."""
        return self._encode(texts, np.maximum)

    def queries(self, texts: Sequence[str]) -> Weights:
        """Every occurrence of a word piece counts."""
        return self._encode(texts, np.add)

    def _encode(self, texts: Sequence[str], join: np.ufunc) -> Weights:
        tokens = self.tokenizer.texts(texts)
        rows = run(self._network, tokens, self._finish)
        if not np.isfinite(rows).all():
            raise Unscorable(f"{self._files.folder}: gave a weight that is not a number")
        if self.kind == "unicoil":
            return _joined(tokens, rows, self._special, join)
        return _nonzero(rows, self._special)

    @cached_property
    def _special(self) -> Int64:
        return np.array(sorted(self.tokenizer.special()), dtype=np.int64)

    @cached_property
    def _network(self) -> Model:
        if self._files.graph is not None:
            return OnnxModel(self._files.graph, self._options.batch_size)
        from surecut.system.models.torch import load_splade, load_unicoil

        load = load_unicoil if self.kind == "unicoil" else load_splade
        return load(self._files.folder, self._options.batch_size, self._options.device)

    def _finish(self, output: Array, batch: Batch) -> Array:
        """UniCOIL: one weight a token, padded to the model's length. SPLADE: one weight a word piece."""
        if self.kind == "unicoil":
            weights = np.maximum(output.reshape(batch.ids.shape), 0) * batch.mask
            return np.pad(weights, ((0, 0), (0, self.tokenizer.max_length - weights.shape[1])))
        if output.ndim == 2:
            return output
        return (np.log1p(np.maximum(output, 0)) * batch.mask[:, :, None]).max(axis=1)  # type: ignore[no-any-return]


def _joined(tokens: Tokens, weights: Array, special: Int64, join: np.ufunc) -> Weights:
    """One weight for each word piece of each text, repeats joined."""
    lengths = tokens.lengths()
    owner = np.repeat(np.arange(len(tokens)), lengths)
    terms = np.concatenate([each.ids for each in tokens.encodings]).astype(np.int64)
    values = np.concatenate([row[:length] for row, length in zip(weights, lengths, strict=True)])
    counted = (values > 0) & ~np.isin(terms, special)
    owner, terms, values = owner[counted], terms[counted], values[counted]
    order = np.lexsort((terms, owner))
    owner, terms, values = owner[order], terms[order], values[order]
    first = np.ones(owner.size, dtype=bool)
    first[1:] = (owner[1:] != owner[:-1]) | (terms[1:] != terms[:-1])
    ends = np.cumsum(np.bincount(owner[first], minlength=len(tokens)))
    joined = join.reduceat(values, np.flatnonzero(first)) if values.size else values
    return Weights(ends, terms[first].astype(np.int32), joined.astype(np.float32))


def _nonzero(rows: Array, special: Int64) -> Weights:
    rows = rows.copy()
    rows[:, special] = 0
    owner, terms = np.nonzero(rows > 0)
    ends = np.cumsum(np.bincount(owner, minlength=len(rows)))
    return Weights(ends, terms.astype(np.int32), rows[owner, terms].astype(np.float32))
