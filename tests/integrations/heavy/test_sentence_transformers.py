"""The real `CrossEncoder.rank`: the same options, the same results on the survivors."""

import inspect

import pytest
from sentence_transformers import CrossEncoder

import surecut as sc
from surecut.integrations.sentence_transformers import Prune

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def network(model):
    return CrossEncoder(model)


@pytest.fixture(scope="module")
def asked(collection):
    """Questions with their candidates: names, texts and scores."""
    listed = []
    for question in list(collection.questions.values())[450:455]:
        names, scores = collection.candidates(question)
        listed.append((question, names, [collection.documents[name] for name in names], scores))
    return listed


def test_results_are_those_of_rank_on_the_survivors(network, asked, certificate):
    prune, loaded = Prune(certificate, network), sc.load_certificate(certificate)
    for question, names, texts, scores in asked:
        kept = loaded.survivors(scores, names).tolist()
        theirs = network.rank(question, [texts[place] for place in kept], top_k=3, return_documents=True)
        ours = prune.rank(question, texts, top_k=3, return_documents=True, scores=scores, ids=names)
        assert [result["corpus_id"] for result in ours] == [kept[result["corpus_id"]] for result in theirs]
        assert [result["text"] for result in ours] == [result["text"] for result in theirs]
        assert [result["score"] for result in ours] == pytest.approx([result["score"] for result in theirs], abs=1e-4)


def test_every_option_of_rank_is_taken(network, asked, certificate):
    given = {"batch_size": 4, "show_progress_bar": False, "prompt": None, "prompt_name": None, "activation_fn": None}
    options = {name for name in inspect.signature(CrossEncoder.rank).parameters if name not in ("self", "documents")}
    own = {"query", "top_k", "return_documents"}
    assert options - own - given.keys() == {"device", "pool", "chunk_size"}
    question, names, texts, scores = asked[0]
    given |= {"device": "cpu", "pool": None, "chunk_size": None}
    assert Prune(certificate, network).rank(question, texts, 2, False, scores=scores, ids=names, **given)


def test_many_questions_at_once(network, asked, certificate):
    prune = Prune(certificate, network)
    questions, names, texts, scores = zip(*asked, strict=True)
    together = prune.rank_many(questions, texts, scores=scores, ids=names)
    for found, (question, listed, documents, given) in zip(together, asked, strict=True):
        alone = prune.rank(question, documents, scores=given, ids=listed)
        assert [result["corpus_id"] for result in found] == [result["corpus_id"] for result in alone]
