"""MonoBERT, MonoELECTRA and rerankers without token types: the scores are those of transformers, pair by pair."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from surecut.errors import InputError
from surecut.system.collection import Queries
from surecut.system.models.tokens import Tokenizer
from surecut.system.rerankers import CrossEncoder
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from tests.system.heavy.tiny import (
    DOCUMENTS,
    FIRST,
    LONGEST,
    PAIRS,
    QUERIES,
    Tiny,
    bert,
    distilbert,
    mono_bert,
    mono_electra,
    roberta_reranker,
)

pytestmark = pytest.mark.heavy

ASKED = Queries([f"q{n}" for n in range(len(QUERIES))], QUERIES)
ALL = np.arange(len(DOCUMENTS))
BUILT = {
    "MonoBERT": mono_bert,
    "MonoELECTRA": mono_electra,
    "DistilBERT": lambda folder: distilbert(transformers.DistilBertForSequenceClassification, folder, num_labels=1),
    "RoBERTa": roberta_reranker,
}


@pytest.fixture(scope="module", params=list(BUILT))
def tiny(request: pytest.FixtureRequest, folder_of) -> Tiny:
    return BUILT[request.param](folder_of(request.param))


@pytest.fixture(scope="module")
def monobert(folder_of) -> Tiny:
    return mono_bert(folder_of("MonoBERT"))


def expected(tiny: Tiny, longest: int = LONGEST) -> np.ndarray:
    """By transformers itself, pair by pair, so without padding."""
    logits = [tiny.output(*pair, longest).logits[0] for pair in PAIRS]
    return np.array([float(each.softmax(0)[1] if each.numel() == 2 else each[0]) for each in logits])


def hits(documents: np.ndarray) -> Hits:
    return Hits(documents.astype(np.int64), np.zeros(documents.size, np.float32))


def rescored(model: CrossEncoder, store: TextStore, documents: np.ndarray = ALL) -> np.ndarray:
    """queries x documents."""
    return np.stack(model.rerank(ASKED, [hits(documents)] * len(ASKED), store))


@pytest.mark.parametrize("longest", [20, LONGEST])
def test_scores_are_those_of_transformers_without_padding(tiny: Tiny, store: TextStore, longest: int) -> None:
    wanted = expected(tiny, longest)
    assert np.std(wanted) > 0.05
    found = rescored(CrossEncoder(tiny.name, max_length=longest), store)
    np.testing.assert_allclose(found.ravel(), wanted, atol=1e-5)


def test_scores_do_not_depend_on_batch_order_or_company(tiny: Tiny, store: TextStore) -> None:
    usual = rescored(CrossEncoder(tiny.name), store)
    order = np.random.default_rng(0).permutation(ALL)
    for size in (1, 5, 1000):
        model = CrossEncoder(tiny.name, batch_size=size)
        np.testing.assert_allclose(rescored(model, store, order), usual[:, order], atol=1e-5)
        one = model.rerank(ASKED[:1], [hits(ALL[:1])], store)[0]
        np.testing.assert_allclose(one, usual[0, :1], atol=1e-5)


@pytest.mark.parametrize("longest", [16, 20, LONGEST])
def test_only_the_document_is_cut(tiny: Tiny, longest: int) -> None:
    tokens = Tokenizer.from_folder(tiny.folder, longest).pairs(*zip(*PAIRS, strict=True))
    wanted = [tiny.tokenizer(*pair, truncation="only_second", max_length=longest)["input_ids"] for pair in PAIRS]
    assert max(map(len, wanted)) == longest
    assert [each.ids for each in tokens.encodings] == wanted
    assert tokens.cut == [n for n, pair in enumerate(PAIRS) if len(tiny.tokenizer(*pair)["input_ids"]) > longest]


def test_a_pair_is_cls_query_sep_document_sep_with_types_of_its_own(monobert: Tiny) -> None:
    found = Tokenizer.from_folder(monobert.folder, 12).pairs([f"{FIRST}s"], [max(DOCUMENTS, key=len)]).encodings[0]
    assert found.tokens[:4] == ["[CLS]", FIRST, "##s", "[SEP]"]
    assert found.tokens[-1] == "[SEP]"
    assert "[SEP]" not in found.tokens[4:-1]
    assert found.type_ids == [0] * 4 + [1] * 8


def test_the_second_of_two_labels_counts(monobert: Tiny, store: TextStore) -> None:
    margins = np.array([np.diff(monobert.output(*pair).logits[0].numpy())[0] for pair in PAIRS], dtype=np.float64)
    as_logit = rescored(CrossEncoder(monobert.name, score="logit"), store).ravel()
    second = [float(monobert.output(*pair).logits[0, 1]) for pair in PAIRS]
    alone = rescored(CrossEncoder(monobert.name, score="second-logit"), store).ravel()
    as_log = rescored(CrossEncoder(monobert.name, score="log-probability"), store).ravel()
    np.testing.assert_allclose(as_logit, margins, atol=1e-5)
    np.testing.assert_allclose(alone, second, atol=1e-5)
    np.testing.assert_allclose(as_log, -np.log1p(np.exp(-margins)), atol=1e-5)


def test_three_labels_are_refused(folder_of, store: TextStore) -> None:
    tiny = bert(transformers.BertForSequenceClassification, folder_of("three"), num_labels=3)
    with pytest.raises(InputError, match="3 labels; a reranker has one, or two of which the second counts"):
        rescored(CrossEncoder(tiny.name), store)


def test_a_document_too_long_is_named_when_cutting_is_refused(monobert: Tiny, store: TextStore) -> None:
    model = CrossEncoder(monobert.name, long_documents="refuse")
    with pytest.raises(InputError, match="document 'd8' and its query have more than the 32 tokens"):
        rescored(model, store)


def test_a_query_too_long_is_refused_and_not_cut(monobert: Tiny, store: TextStore) -> None:
    with pytest.raises(InputError, match=rf"the query '{FIRST} .* alone has 83 tokens and the model takes 32"):
        CrossEncoder(monobert.name).rerank(Queries(["q"], [f"{FIRST} " * 80]), [hits(ALL[:3])], store)


def with_vocabulary_only(tiny: Tiny, folder: Path, **settings: object) -> Path:
    """The folder as checkpoints of 2020 are: vocab.txt, no tokenizer.json."""
    tiny.model.save_pretrained(folder)
    pieces = sorted(tiny.tokenizer.get_vocab().items(), key=lambda each: each[1])
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in pieces), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": LONGEST, **settings}))
    return folder


def test_a_folder_with_only_a_vocabulary_gives_the_same_scores(
    monobert: Tiny, store: TextStore, tmp_path: Path
) -> None:
    folder = with_vocabulary_only(monobert, tmp_path / "old", do_lower_case=True)
    found = rescored(CrossEncoder(str(folder)), store)
    np.testing.assert_array_equal(found, rescored(CrossEncoder(monobert.name), store))


def test_the_tokenizer_may_be_in_a_folder_of_its_own(monobert: Tiny, store: TextStore, tmp_path: Path) -> None:
    monobert.model.save_pretrained(tmp_path / "model")
    monobert.tokenizer.save_pretrained(tmp_path / "words")
    with pytest.raises(InputError, match=r"no tokenizer\.json"):
        CrossEncoder(str(tmp_path / "model"))
    found = rescored(CrossEncoder(str(tmp_path / "model"), tokenizer=str(tmp_path / "words")), store)
    np.testing.assert_array_equal(found, rescored(CrossEncoder(monobert.name), store))


def test_a_cased_vocabulary_is_not_lowered(monobert: Tiny, tmp_path: Path) -> None:
    folder = with_vocabulary_only(monobert, tmp_path / "cased", do_lower_case=False)
    tokens = Tokenizer.from_folder(folder, LONGEST).texts([f"{FIRST.upper()} {FIRST}"])
    assert tokens.encodings[0].tokens == ["[CLS]", "[UNK]", FIRST, "[SEP]"]


def test_a_checkpoint_of_torch_s_own_format_gives_the_same_scores(
    monobert: Tiny, store: TextStore, tmp_path: Path
) -> None:
    monobert.model.config.save_pretrained(tmp_path)
    monobert.tokenizer.save_pretrained(tmp_path)
    torch.save(monobert.model.state_dict(), tmp_path / "pytorch_model.bin")
    found = rescored(CrossEncoder(str(tmp_path)), store)
    np.testing.assert_array_equal(found, rescored(CrossEncoder(monobert.name), store))


def test_the_fingerprint_changes_with_one_weight_and_not_with_the_place(monobert: Tiny, tmp_path: Path) -> None:
    before = CrossEncoder(monobert.name).fingerprint
    other = mono_bert(tmp_path / "same")
    assert CrossEncoder(other.name).fingerprint == before
    with torch.no_grad():
        other.model.classifier.bias[0] += 1e-3
    other.model.save_pretrained(other.folder)
    assert CrossEncoder(other.name).fingerprint != before


def test_a_roberta_that_does_not_say_its_length_takes_two_tokens_less_than_it_has_positions(
    folder_of, store: TextStore
) -> None:
    tiny = roberta_reranker(folder_of("roberta"))
    (tiny.folder / "tokenizer_config.json").unlink()
    np.testing.assert_allclose(rescored(CrossEncoder(tiny.name), store).ravel(), expected(tiny), atol=1e-5)
