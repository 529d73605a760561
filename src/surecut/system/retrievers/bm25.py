"""BM25 on bm25s: an index of term impacts, saved and memory-mapped."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from surecut.arrays import Int32, Int64
from surecut.errors import InputError
from surecut.extras import needed
from surecut.runners import LOCAL, Runner
from surecut.system.cache import digest
from surecut.system.collection import Queries
from surecut.system.describing import Described
from surecut.system.isolating import Failure
from surecut.system.texts import TextStore
from surecut.system.topk import Hits, best
from surecut.watching import SILENT, Watch


@dataclass
class BM25(Described):
    """Lucene's BM25 over stemmed words.

    score(q, d) = sum over words t of q of idf(t) * tf / (tf + k1 * (1 - b + b * |d| / mean |d|))
    """

    k1: float = 0.9
    b: float = 0.4
    stemmer: str = "english"  # or "none", or another language that PyStemmer knows
    stopwords: str = "english"  # or "none", or another list that bm25s knows
    _index: Any = field(default=None, init=False, repr=False)
    _words: Any = field(default=None, init=False, repr=False)
    _ties: Int32 | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.k1 < np.inf or not 0 <= self.b <= 1:
            raise InputError(f"bm25 needs k1 of at least 0 and b between 0 and 1, not {self.k1:g} and {self.b:g}")
        self._tokenizer()  # refuses a stemmer or stop words that are not known

    @property
    def fingerprint(self) -> str:
        return digest("bm25", "lucene", self.k1, self.b, self.stemmer, self.stopwords)

    @property
    def libraries(self) -> tuple[str, ...]:
        return "bm25s", "PyStemmer"

    def index(self, documents: TextStore, folder: Path, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
        """The texts are streamed once; what stays in memory is a number a word."""
        bm25s = needed("bm25s", "bm25")
        watch.stage("indexing documents", len(documents))
        words = self._tokenizer()
        ids = _WordNumbers(words.streaming_tokenize(_stream(documents, watch)))
        index = bm25s.BM25(k1=self.k1, b=self.b, method="lucene", csc_backend="scipy")
        index.index(bm25s.tokenization.Tokenized(ids, words.get_vocab_dict()), show_progress=False)
        index.save(folder, show_progress=False)
        words.save_vocab(str(folder))

    def failures(self, documents: TextStore, folder: Path) -> list[Failure]:
        return []

    def load(self, folder: Path, documents: TextStore) -> None:
        self._index = needed("bm25s", "bm25").BM25.load(folder, mmap=True)
        self._words = self._tokenizer()
        self._words.load_vocab(str(folder))
        self._ties = documents.tie_order

    def search(self, queries: Queries, k: int) -> list[Hits]:
        """Documents that share a word with the query, as Lucene returns them: the rest score 0 and are no match."""
        words = self._words.streaming_tokenize(queries.texts, update_vocab=False, allow_empty=False)
        return [self._find(numbers, k) for numbers in words]

    def _find(self, words: Sequence[int], k: int) -> Hits:
        assert self._ties is not None
        known = [word for word in words if word < len(self._index.scores["indptr"]) - 1]
        return best(self._index.get_scores_from_ids(known), self._ties, k, floor=0.0)

    def _tokenizer(self) -> Any:
        bm25s = needed("bm25s", "bm25")
        stem = None
        if self.stemmer != "none":
            try:
                stem = needed("Stemmer", "bm25").Stemmer(self.stemmer)
            except KeyError:
                known = ", ".join(needed("Stemmer", "bm25").algorithms())
                raise InputError(f"unknown stemmer '{self.stemmer}': known are {known}") from None
        stopwords = None if self.stopwords == "none" else self.stopwords
        try:
            return bm25s.tokenization.Tokenizer(stemmer=stem, stopwords=stopwords)
        except ValueError:
            raise InputError(f"unknown stop words '{stopwords}': known are the languages of bm25s, or none") from None


class _WordNumbers:
    """Every document's words as numbers, in one flat array."""

    def __init__(self, documents: Iterator[list[int]]) -> None:
        flat, lengths = array("i"), array("q")
        for numbers in documents:
            flat.extend(numbers)
            lengths.append(len(numbers))
        self._flat: Int32 = np.frombuffer(flat, dtype=np.int32)
        self._ends: Int64 = np.cumsum(np.frombuffer(lengths, dtype=np.int64))

    def __len__(self) -> int:
        return int(self._ends.size)

    def __iter__(self) -> Iterator[list[int]]:
        start = 0
        for end in self._ends:
            yield self._flat[start:end].tolist()
            start = int(end)


def _stream(documents: TextStore, watch: Watch) -> Iterator[str]:
    for number in range(len(documents)):
        yield documents.texts[number]
        if number % 1000 == 999:
            watch.advance(1000)
