"""Lists that come with their texts, pruned and reranked by a model of this machine."""

import pytest

import surecut as sc
from surecut.certificate import load_certificate
from surecut.errors import InputError
from surecut.serve.messages import Document, RankQuery
from surecut.serve.ranking import LocalReranker
from surecut.serve.service import Service
from surecut.serve.shelf import Shelf
from tests.serve.conftest import DEPTH, scores_of
from tests.system.making import WORDS, bi_encoder, cross_encoder, texts, write_beir, write_recipe

ASKED = f"{WORDS[3]} {WORDS[40]}"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return cross_encoder(tmp_path_factory.mktemp("models") / "cross")


@pytest.fixture
def reranker(model):
    return LocalReranker(str(model))


def documents(system, query: int = 0) -> list[Document]:
    both = zip(scores_of(system, query), texts(DEPTH), strict=True)
    return [Document(f"d{place}", score, text) for place, (score, text) in enumerate(both)]


def ranked(service: Service, name: str, given: list[Document]):
    return service.rank(service.served(name), RankQuery(ASKED, given))


def test_survivors_come_by_the_rerankers_scores(make, reranker, certificates, system):
    given = documents(system)
    found = ranked(make(reranker=reranker), "main", given[7:] + given[:7])
    kept = certificates["main"].keep(scores_of(system))
    expected = reranker.rerank(ASKED, [], [each.text for each in given[:kept]])
    order = sorted(range(kept), key=lambda place: (-expected[place], place))
    assert [each.id for each in found.documents] == [given[place].id for place in order]
    assert [each.reranker for each in found.documents] == pytest.approx([expected[place] for place in order])
    assert (found.kept, found.candidates, found.fallback) == (kept, DEPTH, False)


def test_the_final_list_is_the_one_certified(system, reranker, tmp_path):
    """What is appended is appended, and what is fused is fused."""
    certificate = sc.calibrate(system, target=sc.max_drop(0.1), tail="append", fusion=0.5)
    certificate.save(tmp_path / "fused.json")
    service = Service(Shelf({"fused": tmp_path / "fused.json"}, load_certificate), reranker=reranker)
    found = ranked(service, "fused", documents(system))
    assert len(found.documents) == DEPTH
    first, last = found.documents[0], found.documents[-1]
    assert first.score == pytest.approx(0.5 * first.retriever + 0.5 * first.reranker)
    assert (last.reranker, last.score) == (None, None)


def test_nothing_retrieved_is_nothing_ranked(make, reranker):
    assert ranked(make(reranker=reranker), "main", []).documents == []


def test_a_certificate_of_another_reranker_is_refused(make, reranker, paths, tmp_path):
    from dataclasses import replace

    other = replace(load_certificate(paths["main"]), system={"reranker": "another"})
    other.save(paths["main"])
    with pytest.raises(InputError, match="the reranker of this data is not the certificate's"):
        ranked(make(reranker=reranker), "main", [])


def test_a_recipe_names_the_reranker_too(model, tmp_path):
    write_beir(tmp_path / "data")
    recipe = write_recipe(
        tmp_path / "tiny.toml", collection='beir = "data"', reranker=f'kind = "cross-encoder"\nmodel = "{model}"'
    )
    assert LocalReranker(str(recipe)).fingerprint == LocalReranker(str(model)).fingerprint


def test_only_a_cross_encoder_reranks_texts_as_they_come(tmp_path):
    write_beir(tmp_path / "data")
    bi_encoder(tmp_path / "bi")
    recipe = write_recipe(
        tmp_path / "tiny.toml", collection='beir = "data"', reranker='kind = "bi-encoder"\nmodel = "./bi"'
    )
    with pytest.raises(InputError, match="takes a cross-encoder"):
        LocalReranker(str(recipe))
