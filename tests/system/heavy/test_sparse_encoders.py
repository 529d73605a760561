"""UniCOIL and SPLADE: weights by their definitions, and searching that equals the sum over all word pieces."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from surecut.errors import InputError
from surecut.system.collection import Queries
from surecut.system.models.sparse import Weights
from surecut.system.retrievers import Splade, UniCoil, ready
from surecut.system.texts import TextStore
from tests.system.heavy.tiny import DOCUMENTS, FIRST, LONGEST, QUERIES, VOCABULARY, Tiny, bert, distilbert, unicoil

pytestmark = pytest.mark.heavy

ASKED = Queries([f"q{n}" for n in range(len(QUERIES))], QUERIES)


@pytest.fixture(scope="module")
def weigher(folder_of) -> Tiny:
    return unicoil(folder_of("unicoil"))


@pytest.fixture(scope="module", params=["BERT", "DistilBERT"])
def expander(request: pytest.FixtureRequest, folder_of) -> Tiny:
    if request.param == "BERT":
        return bert(transformers.BertForMaskedLM, folder_of("splade"))
    return distilbert(transformers.DistilBertForMaskedLM, folder_of("splade"))


def of_unicoil(tiny: Tiny, text: str, join: np.ufunc = np.maximum) -> np.ndarray:
    """One weight a word piece: relu(w h + b), repeats joined, none for special tokens."""
    ids = tiny.tokenizer(text, truncation=True, max_length=LONGEST)["input_ids"]
    weights = np.zeros(len(VOCABULARY))
    join.at(weights, ids, tiny.output(text)[0, :, 0].numpy())
    weights[tiny.tokenizer.all_special_ids] = 0
    return weights


def of_splade(tiny: Tiny, text: str) -> np.ndarray:
    """max over tokens of log(1 + relu(logit)), none for special tokens."""
    logits = tiny.output(text).logits[0].numpy().astype(np.float64)
    weights = np.log1p(np.maximum(logits, 0)).max(axis=0)
    weights[tiny.tokenizer.all_special_ids] = 0
    return weights


def dense(found: Weights) -> np.ndarray:
    """texts x vocabulary."""
    rows = np.zeros((found.ends.size, len(VOCABULARY)))
    for row, low, high in zip(rows, [0, *found.ends[:-1]], found.ends, strict=True):
        assert len(set(found.terms[low:high])) == high - low
        row[found.terms[low:high]] = found.weights[low:high]
    return rows


def assert_brute_force(retriever: UniCoil | Splade, wanted: np.ndarray) -> None:
    """queries x documents; documents that share nothing are no match."""
    for found, row in zip(retriever.search(ASKED, len(DOCUMENTS)), wanted, strict=True):
        assert sorted(found.documents) == np.flatnonzero(row > 0).tolist()
        np.testing.assert_allclose(found.scores, row[found.documents], rtol=1e-4, atol=1e-5)
        assert (np.diff(found.scores) <= 0).all()
    for found, row in zip(retriever.search(ASKED, 3), wanted, strict=True):
        np.testing.assert_allclose(found.scores, np.sort(row[row > 0])[::-1][:3], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 5, 32])
def test_unicoil_weighs_each_word_piece_once_by_its_definition(weigher: Tiny, size: int) -> None:
    wanted = np.stack([of_unicoil(weigher, text) for text in DOCUMENTS])
    assert wanted[wanted > 0].std() > 0.1
    found = UniCoil(weigher.name, batch_size=size).of_documents.documents(DOCUMENTS)
    np.testing.assert_allclose(dense(found), wanted, atol=1e-5)


def test_a_repeat_has_its_largest_weight_in_a_document_and_counts_again_in_a_query(weigher: Tiny) -> None:
    text = f"{FIRST} , {FIRST}s ? {FIRST}"
    piece = weigher.tokenizer.convert_tokens_to_ids(FIRST)
    places = np.array(weigher.tokenizer(text)["input_ids"]) == piece
    of_each = weigher.output(text)[0, :, 0].numpy()[places]
    assert (of_each > 0).sum() >= 2
    encoder = UniCoil(weigher.name).of_documents
    assert dense(encoder.documents([text]))[0, piece] == pytest.approx(of_each.max(), abs=1e-5)
    assert dense(encoder.queries([text]))[0, piece] == pytest.approx(of_each.sum(), abs=1e-5)


def test_unicoil_s_retrieval_equals_the_sum_over_word_pieces(weigher: Tiny, store: TextStore) -> None:
    retriever = UniCoil(weigher.name)
    ready(retriever, store)
    documents = np.stack([of_unicoil(weigher, text) for text in DOCUMENTS])
    queries = np.stack([of_unicoil(weigher, text, np.add) for text in QUERIES])
    assert 0 < (queries @ documents.T > 0).mean() < 1
    assert_brute_force(retriever, queries @ documents.T)


@pytest.mark.parametrize("prefix", ["", "coil_encoder."])
def test_an_older_checkpoint_of_unicoil_weighs_alike(weigher: Tiny, tmp_path: Path, prefix: str) -> None:
    """Torch's own format, a word list in place of a tokenizer, names with a prefix."""
    weigher.model.config.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in VOCABULARY), encoding="utf-8")
    tensors = {prefix + name: tensor for name, tensor in weigher.model.state_dict().items()}
    torch.save(tensors, tmp_path / "pytorch_model.bin")
    found = UniCoil(str(tmp_path)).of_documents.documents(DOCUMENTS)
    np.testing.assert_array_equal(dense(found), dense(UniCoil(weigher.name).of_documents.documents(DOCUMENTS)))


def test_queries_may_have_a_weigher_of_their_own(weigher: Tiny, store: TextStore, tmp_path: Path) -> None:
    of_queries = unicoil(tmp_path, seed=9)
    retriever = UniCoil(weigher.name, query_model=of_queries.name)
    ready(retriever, store)
    documents = np.stack([of_unicoil(weigher, text) for text in DOCUMENTS])
    queries = np.stack([of_unicoil(of_queries, text, np.add) for text in QUERIES])
    assert_brute_force(retriever, queries @ documents.T)
    assert retriever.fingerprint != UniCoil(weigher.name).fingerprint


def test_bert_without_tok_proj_is_no_unicoil(folder_of) -> None:
    plain = bert(transformers.BertModel, folder_of("plain"))
    with pytest.raises(InputError, match="no tok_proj weights; this is not a UniCOIL checkpoint"):
        UniCoil(plain.name).of_documents.documents(QUERIES)


def test_tok_proj_without_bert_is_no_unicoil(weigher: Tiny, tmp_path: Path) -> None:
    weigher.model.config.save_pretrained(tmp_path)
    weigher.tokenizer.save_pretrained(tmp_path)
    torch.save(weigher.model.tok_proj.state_dict(prefix="tok_proj."), tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match="no weights for bert"):
        UniCoil(str(tmp_path)).of_documents.documents(QUERIES)


@pytest.mark.parametrize("size", [1, 5, 32])
def test_splade_weighs_the_whole_vocabulary_by_its_definition(expander: Tiny, size: int) -> None:
    wanted = np.stack([of_splade(expander, text) for text in DOCUMENTS])
    found = Splade(expander.name, batch_size=size).of_documents.documents(DOCUMENTS)
    np.testing.assert_allclose(dense(found), wanted, atol=1e-5)


def test_splade_s_retrieval_equals_the_sum_over_word_pieces(expander: Tiny, store: TextStore) -> None:
    retriever = Splade(expander.name)
    ready(retriever, store)
    documents = np.stack([of_splade(expander, text) for text in DOCUMENTS])
    queries = np.stack([of_splade(expander, text) for text in QUERIES])
    assert_brute_force(retriever, queries @ documents.T)


def test_a_bert_without_its_language_model_head_is_no_splade(folder_of) -> None:
    plain = bert(transformers.BertModel, folder_of("plain"))
    with pytest.raises(InputError, match="the checkpoint has no weights for cls"):
        Splade(plain.name).of_documents.documents(QUERIES)
