"""Sparse encoders: a text becomes weights of word pieces. UniCOIL weighs the text's own, SPLADE adds others."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from surecut.arrays import Array, Float32, Int32, Int64
from surecut.errors import InputError
from surecut.system.cache import digest
from surecut.system.models.batches import Model, run
from surecut.system.models.folder import find_model, fingerprint, longest_text
from surecut.system.models.onnx import OnnxModel, find_onnx
from surecut.system.models.tokens import Batch, Tokenizer, Tokens

Kind = Literal["unicoil", "splade"]


@dataclass(frozen=True)
class Weights:
    """Weighted word pieces of several texts, one after the other."""

    ends: Int64
    terms: Int32
    weights: Float32


class SparseEncoder:
    """One model folder as a function from texts to weights."""

    def __init__(
        self, folder: Path, kind: Kind, max_length: int | None, batch_size: int | None, device: str | None
    ) -> None:
        self.folder = folder
        self.kind = kind
        self._onnx = find_onnx(folder)
        self._batch_size, self._device = batch_size, device
        self.tokenizer = Tokenizer.from_folder(folder, longest_text(folder, max_length))

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.kind, fingerprint(self.folder, self._onnx), self.tokenizer.max_length)

    def encode(self, texts: Sequence[str]) -> Weights:
        tokens = self.tokenizer.texts(texts)
        rows = run(self._network, tokens, self._finish)
        if not np.isfinite(rows).all():
            raise InputError(f"{self.folder}: gave a weight that is not a number")
        return _strongest(tokens, rows, self._special) if self.kind == "unicoil" else _nonzero(rows, self._special)

    @cached_property
    def _special(self) -> Int64:
        return np.array(sorted(self.tokenizer.special()), dtype=np.int64)

    @cached_property
    def _network(self) -> Model:
        if self._onnx is not None:
            return OnnxModel(self._onnx, self._batch_size)
        from surecut.system.models.torch import load_splade, load_unicoil

        load = load_unicoil if self.kind == "unicoil" else load_splade
        return load(self.folder, self._batch_size, self._device)

    def _finish(self, output: Array, batch: Batch) -> Array:
        """UniCOIL: one weight a token, padded to the model's length. SPLADE: one weight a word piece."""
        if self.kind == "unicoil":
            weights = np.maximum(output.reshape(batch.ids.shape), 0) * batch.mask
            return np.pad(weights, ((0, 0), (0, self.tokenizer.max_length - weights.shape[1])))
        if output.ndim == 2:
            return output
        return (np.log1p(np.maximum(output, 0)) * batch.mask[:, :, None]).max(axis=1)  # type: ignore[no-any-return]


def _strongest(tokens: Tokens, weights: Array, special: Int64) -> Weights:
    """The largest weight of each word piece of each text."""
    lengths = tokens.lengths()
    owner = np.repeat(np.arange(len(tokens)), lengths)
    terms = np.concatenate([each.ids for each in tokens.encodings]).astype(np.int64)
    values = np.concatenate([row[:length] for row, length in zip(weights, lengths, strict=True)])
    counted = (values > 0) & ~np.isin(terms, special)
    owner, terms, values = owner[counted], terms[counted], values[counted]
    order = np.lexsort((-values, terms, owner))
    owner, terms, values = owner[order], terms[order], values[order]
    first = np.ones(owner.size, dtype=bool)
    first[1:] = (owner[1:] != owner[:-1]) | (terms[1:] != terms[:-1])
    ends = np.cumsum(np.bincount(owner[first], minlength=len(tokens)))
    return Weights(ends, terms[first].astype(np.int32), values[first].astype(np.float32))


def _nonzero(rows: Array, special: Int64) -> Weights:
    rows = rows.copy()
    rows[:, special] = 0
    owner, terms = np.nonzero(rows > 0)
    ends = np.cumsum(np.bincount(owner, minlength=len(rows)))
    return Weights(ends, terms.astype(np.int32), rows[owner, terms].astype(np.float32))


def load_sparse(
    name: str, kind: Kind, max_length: int | None, batch_size: int | None, device: str | None
) -> SparseEncoder:
    return SparseEncoder(find_model(name), kind, max_length, batch_size, device)
