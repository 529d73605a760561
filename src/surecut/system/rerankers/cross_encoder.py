"""Cross-encoders: query and document read together, one score a pair."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from surecut.arrays import Array, Float64
from surecut.errors import InputError, Unscorable
from surecut.system.cache import digest
from surecut.system.collection import Queries
from surecut.system.describing import Described
from surecut.system.models.batches import Model, refuse_batch_size, run
from surecut.system.models.folder import find_model
from surecut.system.models.onnx import OnnxModel
from surecut.system.models.tokens import Batch, Tokenizer, Tokens
from surecut.system.texts import TextStore
from surecut.system.topk import Hits

Output = Literal["auto", "logit", "probability", "log-probability", "second-logit"]


@dataclass
class CrossEncoder(Described):
    """MonoBERT, MonoELECTRA and their like.

    One label: its logit is the score. Two labels (MonoBERT): the probability of the second,
    exp(l1) / (exp(l0) + exp(l1)); "logit" is then l1 - l0, "second-logit" l1 alone, for a model trained on that.
    """

    model: str
    tokenizer: str | None = None  # where the model's own folder has none
    file: str | None = None
    max_length: int | None = None
    batch_size: int | None = None
    score: Output = "auto"
    device: str | None = None
    long_documents: Literal["cut", "refuse"] = "cut"
    pairs_per_block: int = field(default=500, init=False, repr=False)
    cut: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        refuse_batch_size(self.batch_size)
        self._files = find_model(self.model, self.file, self.tokenizer)
        self._tokenizer = Tokenizer.from_folder(self._files.words, self._files.longest_text(self.max_length))

    @cached_property
    def fingerprint(self) -> str:
        return digest("cross-encoder", self._files.fingerprint(), self._tokenizer.max_length, self.score)

    @property
    def libraries(self) -> tuple[str, ...]:
        return self._files.libraries

    def refuse_queries(self, queries: Queries) -> None:
        """Only documents are cut, so a query must leave room for one."""
        self._tokenizer.refuse_long_queries(queries.texts)

    def load(self, documents: TextStore | None = None) -> None:
        """Load the model, whatever the documents are."""
        _ = self._network

    def rerank(self, queries: Queries, hits: Sequence[Hits], documents: TextStore) -> list[Float64]:
        """A score for each candidate of each query: all pairs are batched together, by length."""
        numbers = np.concatenate([each.documents for each in hits])
        sizes = [each.documents.size for each in hits]
        owners: list[int] = np.repeat(np.arange(len(hits)), sizes).tolist()
        if not owners:
            return [np.empty(0) for _ in hits]
        scores = self.score_pairs(
            [queries.texts[owner] for owner in owners],
            documents.texts.take(numbers),
            lambda place: documents.ids[int(numbers[place])],
        )
        return np.split(scores, np.cumsum(sizes)[:-1])

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str], name: Callable[[int], str]) -> Float64:
        """A score for each pair; `name` says how the document at a place is called, for one that is refused."""
        tokens = self._tokenizer.pairs(queries, texts)
        self._refuse_long(tokens, name)
        scores = run(self._network, tokens, self._finish)
        if not np.isfinite(scores).all():
            raise Unscorable(f"{self.model}: gave a score that is not a number")
        self.cut += len(tokens.cut)
        return scores

    def notes(self, cut: int) -> list[str]:
        if not cut:
            return []
        return [f"{cut:,} pairs had more than {self._tokenizer.max_length} tokens: their documents were cut"]

    def _refuse_long(self, tokens: Tokens, name: Callable[[int], str]) -> None:
        cut = tokens.cut
        if cut and self.long_documents == "refuse":
            raise InputError(
                f"document '{name(cut[0])}' and its query have more than the {self._tokenizer.max_length} tokens that "
                'the model takes; long_documents = "cut" cuts it there'
            )

    @cached_property
    def _network(self) -> Model:
        if self._files.graph is not None:
            return OnnxModel(self._files.graph, self.batch_size)
        from surecut.system.models.torch import load_classifier

        return load_classifier(self._files.folder, self.batch_size, self.device)

    def _finish(self, logits: Array, _: Batch) -> Float64:
        if logits.ndim == 3:
            raise InputError(f"{self.model}: gives a state for every token; this is an encoder, not a cross-encoder")
        labels = logits.reshape(len(logits), -1).astype(np.float64)
        if labels.shape[1] == 1 and self.score != "second-logit":
            return _as_asked(labels[:, 0], "logit" if self.score == "auto" else self.score)
        if labels.shape[1] == 1:
            raise InputError(
                f'{self.model}: has one label, so there is no second logit; leave out score = "second-logit"'
            )
        if labels.shape[1] != 2:
            raise InputError(
                f"{self.model}: {labels.shape[1]} labels; a reranker has one, or two of which the second counts"
            )
        if self.score == "second-logit":
            return labels[:, 1]
        return _as_asked(labels[:, 1] - labels[:, 0], "probability" if self.score == "auto" else self.score)


def _as_asked(margin: Float64, output: Output) -> Float64:
    """The logit, 1 / (1 + exp(-logit)), or its logarithm, without overflow."""
    if output == "probability":
        return np.exp(-np.logaddexp(0.0, -margin))
    if output == "log-probability":
        return -np.logaddexp(0.0, -margin)
    return margin
