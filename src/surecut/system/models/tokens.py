"""Texts and pairs as token numbers, cut where the model ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surecut.arrays import Int64
from surecut.errors import InputError
from surecut.extras import needed
from surecut.system.models.folder import read_json


@dataclass(frozen=True)
class Batch:
    """Token numbers of several texts, padded to one length."""

    ids: Int64
    mask: Int64
    types: Int64


@dataclass(frozen=True)
class Tokens:
    """Texts or pairs as token numbers, and which of them were cut."""

    encodings: Sequence[Any]

    @property
    def cut(self) -> list[int]:
        return [place for place, each in enumerate(self.encodings) if each.overflowing]

    def __len__(self) -> int:
        return len(self.encodings)

    def lengths(self) -> Int64:
        return np.array([len(each.ids) for each in self.encodings], dtype=np.int64)

    def batch(self, places: Sequence[int]) -> Batch:
        """The texts at some places as one batch."""
        chosen = [self.encodings[place] for place in places]
        shape = (len(chosen), max(len(each.ids) for each in chosen))
        ids, mask, types = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        for row, each in enumerate(chosen):
            length = len(each.ids)
            ids[row, :length], mask[row, :length], types[row, :length] = each.ids, each.attention_mask, each.type_ids
        return Batch(ids, mask, types)


class Tokenizer:
    """A fast tokenizer with the model's own length limit."""

    def __init__(self, backend: Any, max_length: int) -> None:
        self._backend = backend
        self.max_length = max_length
        backend.no_padding()

    @classmethod
    def from_folder(cls, folder: Path, max_length: int) -> "Tokenizer":
        tokenizers = needed("tokenizers", "onnx")
        path, words = folder / "tokenizer.json", folder / "vocab.txt"
        if not path.is_file() and not words.is_file():
            raise InputError(f"{folder}: no tokenizer.json; name a folder or model that has it with tokenizer = ...")
        try:
            backend = tokenizers.Tokenizer.from_file(str(path)) if path.is_file() else _of_bert(tokenizers, words)
        except Exception as error:  # the library raises nothing more specific
            raise InputError(f"{path if path.is_file() else words}: not a tokenizer ({error})") from None
        return cls(backend, max_length)

    def texts(self, texts: Sequence[str]) -> Tokens:
        """[CLS] text [SEP], cut on the right."""
        self._backend.enable_truncation(self.max_length)
        return Tokens(self._backend.encode_batch(list(texts)))

    def pairs(self, queries: Sequence[str], documents: Sequence[str]) -> Tokens:
        """[CLS] query [SEP] document [SEP]; only the document is cut."""
        self._backend.enable_truncation(self.max_length, strategy="only_second")
        try:
            return Tokens(self._backend.encode_batch(list(zip(queries, documents, strict=True))))
        except Exception as error:  # the library raises nothing more specific
            self.refuse_long_queries(queries)
            raise InputError(f"the tokenizer refused a pair of query and document ({error})") from None

    def special(self) -> set[int]:
        """Numbers of tokens that are no words."""
        return {number for number, token in self._backend.get_added_tokens_decoder().items() if token.special}

    def refuse_long_queries(self, queries: Sequence[str]) -> None:
        """A query that leaves no room for a document is named."""
        self._backend.no_truncation()
        different = list(dict.fromkeys(queries))
        for query, encoded in zip(
            different, self._backend.encode_batch([(each, "") for each in different]), strict=True
        ):
            if len(encoded.ids) >= self.max_length:
                raise InputError(
                    f"the query '{query[:60]}...' alone has {len(encoded.ids):,} tokens and the model takes "
                    f"{self.max_length:,}: only documents are cut; shorten the query"
                )


def _of_bert(tokenizers: Any, words: Path) -> Any:
    """BERT's tokenizer from its word list, for checkpoints that are older than tokenizer.json."""
    lowercase = read_json(words.parent / "tokenizer_config.json").get("do_lower_case", True)
    backend = tokenizers.Tokenizer(tokenizers.models.WordPiece.from_file(str(words), unk_token="[UNK]"))
    backend.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    backend.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    ends = [(token, backend.token_to_id(token)) for token in ("[SEP]", "[CLS]")]
    backend.post_processor = tokenizers.processors.BertProcessing(*ends)
    return backend
