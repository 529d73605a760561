"""Tiny models of the real architectures, with weights from a fixed seed, saved as their published checkpoints are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as parts
from tokenizers import ByteLevelBPETokenizer

from tests.system import making

torch.set_num_threads(1)  # models this small gain nothing from more
transformers.utils.logging.disable_progress_bar()

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = (*SPECIAL, *LETTERS, ".", ",", "?", *(f"##{letter}" for letter in LETTERS), "##ing", *making.WORDS)
LONGEST = 32
SIZES: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
SPREAD = {"initializer_range": 0.2}  # wide enough that every token matters to the output

FIRST, SECOND, *_ = making.WORDS
DOCUMENTS = [
    *making.texts(8, seed=1, longest=16),
    *making.texts(2, seed=2, longest=80),
    *making.texts(1, seed=3, longest=60),
    FIRST,
    f"{FIRST}s, {FIRST}s, {FIRST.capitalize()} {SECOND}ing?",
    f"{SECOND} {FIRST} {SECOND} {SECOND}",
]
QUERIES = [f"{FIRST}?", *making.texts(3, seed=4, longest=7)]
PAIRS = [(query, document) for query in QUERIES for document in DOCUMENTS]


@dataclass(frozen=True)
class Tiny:
    """A model in memory and the folder it was saved in."""

    folder: Path
    model: Any
    tokenizer: Any

    @property
    def name(self) -> str:
        return str(self.folder)

    def output(self, text: str, second: str | None = None, longest: int = LONGEST) -> Any:
        """What transformers itself gives for one text or pair, without padding."""
        given = self.tokenizer(
            text,
            second,
            truncation="only_first" if second is None else "only_second",
            max_length=longest,
            return_tensors="pt",
        )
        with torch.inference_mode():
            return self.model(**given)


def bert_tokenizer() -> Any:
    pieces = {piece: number for number, piece in enumerate(VOCABULARY)}
    return transformers.BertTokenizerFast(vocab=pieces, model_max_length=LONGEST)


def roberta_tokenizer() -> Any:
    """A byte-level tokenizer, as RoBERTa has, learnt from the documents."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    learnt = ByteLevelBPETokenizer()
    learnt.train_from_iterator(DOCUMENTS, vocab_size=400, special_tokens=special, show_progress=False)
    return transformers.RobertaTokenizerFast(tokenizer_object=learnt._tokenizer, model_max_length=LONGEST)


def saved(model: Any, tokenizer: Any, folder: Path) -> Tiny:
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Tiny(folder, model, tokenizer)


def bert_config(**more: Any) -> Any:
    return transformers.BertConfig(
        vocab_size=len(VOCABULARY), max_position_embeddings=LONGEST, **SIZES, **SPREAD, **more
    )


def bert(kind: Any, folder: Path, seed: int = 0, **more: Any) -> Tiny:
    """Any of BERT's classes."""
    torch.manual_seed(seed)
    return saved(kind(bert_config(**more)), bert_tokenizer(), folder)


def mono_bert(folder: Path) -> Tiny:
    return bert(transformers.BertForSequenceClassification, folder, num_labels=2)


def mono_electra(folder: Path) -> Tiny:
    torch.manual_seed(1)
    config = transformers.ElectraConfig(
        vocab_size=len(VOCABULARY),
        embedding_size=16,
        max_position_embeddings=LONGEST,
        num_labels=1,
        **SIZES,
        **SPREAD,
    )
    return saved(transformers.ElectraForSequenceClassification(config), bert_tokenizer(), folder)


def distilbert(kind: Any, folder: Path, seed: int = 2, **more: Any) -> Tiny:
    torch.manual_seed(seed)
    config = transformers.DistilBertConfig(
        vocab_size=len(VOCABULARY),
        max_position_embeddings=LONGEST,
        dim=32,
        n_layers=2,
        n_heads=4,
        hidden_dim=64,
        **SPREAD,
        **more,
    )
    return saved(kind(config), bert_tokenizer(), folder)


def roberta_reranker(folder: Path) -> Tiny:
    """Positions start after the padding token: two more embeddings than tokens."""
    torch.manual_seed(3)
    tokenizer = roberta_tokenizer()
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=LONGEST + 2,
        type_vocab_size=1,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        num_labels=1,
        **SIZES,
        **SPREAD,
    )
    return saved(transformers.RobertaForSequenceClassification(config), tokenizer, folder)


def dpr(kind: Any, folder: Path, seed: int) -> Tiny:
    torch.manual_seed(seed)
    config = transformers.DPRConfig(vocab_size=len(VOCABULARY), max_position_embeddings=LONGEST, **SIZES, **SPREAD)
    return saved(kind(config), bert_tokenizer(), folder)


class UniCoilEncoder(transformers.BertPreTrainedModel):
    """The published checkpoints' class: BERT, with its pooler, and one number a token."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.bert = transformers.BertModel(config)
        self.tok_proj = torch.nn.Linear(config.hidden_size, 1)
        self.post_init()

    def forward(self, **given: Any) -> Any:
        return self.tok_proj(self.bert(**given).last_hidden_state).relu()


def unicoil(folder: Path, seed: int = 4) -> Tiny:
    made = bert(UniCoilEncoder, folder, seed)
    torch.nn.init.constant_(made.model.tok_proj.bias, 0.5)
    made.model.save_pretrained(folder)
    return made


def library_folder(folder: Path, modules: list[str], pooling: str = "mean") -> Path:
    """A model saved by sentence-transformers itself."""
    transformer = parts.Transformer(bert(transformers.BertModel, folder / "plain").name)
    torch.manual_seed(5)
    after = {
        "Pooling": parts.Pooling(32, pooling_mode=pooling),
        "Dense": parts.Dense(32, 24, activation_function=torch.nn.Tanh()),
        "Normalize": parts.Normalize(),
    }
    SentenceTransformer(modules=[transformer, *(after[name] for name in modules)], device="cpu").save(
        str(folder / "st")
    )
    return folder / "st"
