"""DPR, sentence-transformers and plain bi-encoders: vectors and rankings are those of their own libraries."""

from pathlib import Path

import numpy as np
import pytest
import transformers
from sentence_transformers import SentenceTransformer

from surecut.errors import InputError
from surecut.system.collection import Queries
from surecut.system.models.encoder import BiEncoder
from surecut.system.retrievers import Dense, ready
from surecut.system.texts import TextStore
from tests.system.heavy.tiny import DOCUMENTS, QUERIES, Tiny, bert, distilbert, dpr, library_folder

pytestmark = pytest.mark.heavy

ASKED = Queries([f"q{n}" for n in range(len(QUERIES))], QUERIES)


@pytest.fixture(scope="module")
def passages(folder_of) -> Tiny:
    return dpr(transformers.DPRContextEncoder, folder_of("passages"), seed=1)


@pytest.fixture(scope="module")
def questions(folder_of) -> Tiny:
    return dpr(transformers.DPRQuestionEncoder, folder_of("questions"), seed=2)


@pytest.fixture(scope="module", params=["BERT", "DistilBERT"])
def plain(request: pytest.FixtureRequest, folder_of) -> Tiny:
    if request.param == "BERT":
        return bert(transformers.BertModel, folder_of("bert"))
    return distilbert(transformers.DistilBertModel, folder_of("distilbert"))


STACKS = {
    "pooled": ["Pooling"],
    "normalised": ["Pooling", "Normalize"],
    "projected": ["Pooling", "Dense"],
    "projected and normalised": ["Pooling", "Dense", "Normalize"],
}


@pytest.fixture(scope="module")
def stacks(folder_of) -> dict[str, Path]:
    return {name: library_folder(folder_of("stack"), modules) for name, modules in STACKS.items()}


def pooled(states: np.ndarray, pooling: str) -> np.ndarray:
    return {"cls": states[0], "mean": states.mean(axis=0), "max": states.max(axis=0)}[pooling]


def test_dpr_scores_are_inner_products_of_the_two_pooled_outputs(
    passages: Tiny, questions: Tiny, store: TextStore
) -> None:
    retriever = Dense(passages.name, questions.name)
    ready(retriever, store)
    of_documents = np.concatenate([passages.output(text).pooler_output for text in DOCUMENTS]).astype(np.float64)
    of_queries = np.concatenate([questions.output(text).pooler_output for text in QUERIES]).astype(np.float64)
    exact = of_queries @ of_documents.T
    for found, row in zip(retriever.search(ASKED, len(DOCUMENTS)), exact, strict=True):
        assert sorted(found.documents) == list(range(len(DOCUMENTS)))
        np.testing.assert_allclose(found.scores, row[found.documents], rtol=1e-5, atol=1e-4)
        assert (np.diff(found.scores) <= 0).all()


def test_exact_search_finds_the_best_as_brute_force_does(passages: Tiny, questions: Tiny, store: TextStore) -> None:
    retriever = Dense(passages.name, questions.name)
    ready(retriever, store)
    brute = retriever.queries(QUERIES).astype(np.float64) @ retriever.documents(DOCUMENTS).astype(np.float64).T
    for k in (1, 4, len(DOCUMENTS), len(DOCUMENTS) + 9):
        for found, row in zip(retriever.search(ASKED, k), brute, strict=True):
            np.testing.assert_allclose(found.scores, np.sort(row)[::-1][:k], rtol=1e-5, atol=1e-4)
            np.testing.assert_allclose(found.scores, row[found.documents], rtol=1e-5, atol=1e-4)


def test_queries_and_passages_have_encoders_of_their_own(passages: Tiny, questions: Tiny) -> None:
    both, alone = BiEncoder(passages.name, questions.name), BiEncoder(passages.name)
    np.testing.assert_array_equal(both.documents(QUERIES), alone.documents(QUERIES))
    assert np.abs(both.queries(QUERIES) - alone.queries(QUERIES)).max() > 0.1
    assert both.encoder_fingerprint != alone.encoder_fingerprint
    assert both.document_fingerprint == alone.document_fingerprint


@pytest.mark.parametrize("stack", STACKS)
def test_a_sentence_transformers_folder_encodes_as_the_library_does(stacks: dict[str, Path], stack: str) -> None:
    wanted = SentenceTransformer(str(stacks[stack]), device="cpu").encode(DOCUMENTS)
    found = BiEncoder(str(stacks[stack])).documents(DOCUMENTS)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5) == ("Normalize" in STACKS[stack])


@pytest.mark.parametrize("pooling", ["cls", "max"])
def test_other_poolings_of_the_library_are_kept(pooling: str, tmp_path: Path) -> None:
    folder = library_folder(tmp_path, ["Pooling"], pooling)
    wanted = SentenceTransformer(str(folder), device="cpu").encode(QUERIES)
    np.testing.assert_allclose(BiEncoder(str(folder)).documents(QUERIES), wanted, atol=1e-5)


def test_a_length_asked_for_cuts_in_the_library_too(stacks: dict[str, Path]) -> None:
    library = SentenceTransformer(str(stacks["pooled"]), device="cpu")
    library.max_seq_length = 10
    found = BiEncoder(str(stacks["pooled"]), max_length=10).documents(DOCUMENTS)
    np.testing.assert_allclose(found, library.encode(DOCUMENTS), atol=1e-5)
    assert np.abs(found - BiEncoder(str(stacks["pooled"])).documents(DOCUMENTS)).max() > 0.01


def test_a_folder_that_does_not_normalise_does_so_when_asked(stacks: dict[str, Path]) -> None:
    found = BiEncoder(str(stacks["pooled"]), normalise=True).documents(DOCUMENTS)
    np.testing.assert_allclose(found, BiEncoder(str(stacks["normalised"])).documents(DOCUMENTS), atol=1e-5)


def test_a_pooling_asked_for_is_not_ignored_by_a_sentence_transformers_folder(stacks: dict[str, Path]) -> None:
    plain = bert(transformers.BertModel, stacks["pooled"].parent / "again")
    wanted = [plain.output(text).last_hidden_state[0, 0].numpy() for text in QUERIES]
    found = BiEncoder(str(stacks["pooled"]), pooling="cls").documents(QUERIES)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_normalisation_refused_is_not_ignored_by_a_sentence_transformers_folder(stacks: dict[str, Path]) -> None:
    found = BiEncoder(str(stacks["normalised"]), normalise=False).documents(QUERIES)
    np.testing.assert_allclose(found, BiEncoder(str(stacks["pooled"])).documents(QUERIES), atol=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
@pytest.mark.parametrize("normalise", [True, False])
def test_a_plain_checkpoint_is_pooled_over_its_own_tokens_only(plain: Tiny, pooling: str, normalise: bool) -> None:
    states = [plain.output(text).last_hidden_state[0].numpy() for text in DOCUMENTS]
    wanted = np.stack([pooled(each, pooling) for each in states])
    if normalise:
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    for size in (1, 32):
        encoder = BiEncoder(plain.name, pooling=pooling, normalise=normalise, batch_size=size)
        np.testing.assert_allclose(encoder.documents(DOCUMENTS), wanted, atol=1e-5)


def test_prefixes_are_put_before_each_side_s_texts(plain: Tiny) -> None:
    bare = BiEncoder(plain.name, pooling="mean")
    prefixed = BiEncoder(plain.name, pooling="mean", query_prefix="query, ", document_prefix="passage, ")
    np.testing.assert_allclose(prefixed.queries(QUERIES), bare.queries(["query, " + text for text in QUERIES]))
    np.testing.assert_allclose(prefixed.documents(QUERIES), bare.documents(["passage, " + text for text in QUERIES]))
    assert np.abs(prefixed.queries(QUERIES) - prefixed.documents(QUERIES)).max() > 0.01
    assert len({bare.encoder_fingerprint, prefixed.encoder_fingerprint}) == 2


def test_a_plain_checkpoint_without_a_pooling_says_what_to_set(plain: Tiny) -> None:
    with pytest.raises(InputError, match='does not say how to pool its states; set pooling = "cls" or "mean"'):
        BiEncoder(plain.name).documents(QUERIES)
