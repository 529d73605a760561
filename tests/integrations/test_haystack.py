"""Haystack: in pipelines with its own BM25 retriever, asynchronously, and through a file."""

import asyncio
from dataclasses import replace

import pytest
from haystack import Document, Pipeline, component
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

import surecut as sc
from surecut import InputError
from surecut.integrations.haystack import Prune
from tests.integrations.adapters import haystack_documents

DEPTH = 40


@pytest.fixture(scope="module")
def store(asked):
    texts = {name: text for each in asked for name, text in zip(each.ids, each.texts, strict=True)}
    filled = InMemoryDocumentStore()
    filled.write_documents([Document(id=name, content=text, meta={"page": 7}) for name, text in texts.items()])
    return filled


@pytest.fixture(scope="module")
def lists(asked, store):
    retriever = InMemoryBM25Retriever(store, top_k=DEPTH)
    return {each.query: retriever.run(query=each.query)["documents"] for each in asked}


@pytest.fixture(scope="module")
def certificate(asked, lists, pairs):
    """About Haystack's own BM25."""
    run = {each.query_id: {found.id: found.score for found in lists[each.query]} for each in asked}
    second = {
        each.query_id: {found.id: pairs.scores(each.query, [found.content])[0] for found in lists[each.query]}
        for each in asked
    }
    made = sc.calibrate(sc.Candidates.from_dicts(run, second), target=sc.agreement(0.5, k=5))
    assert made.mean_kept < 25
    return made


@component
class Ranker:
    def __init__(self, pairs):
        self.pairs = pairs

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]):
        scored = zip(documents, self.pairs.scores(query, [each.content for each in documents]), strict=True)
        return {"documents": [each for each, _ in sorted(scored, key=lambda pair: -pair[1])]}


def pipeline_of(store, certificate, pairs):
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=DEPTH))
    pipeline.add_component("prune", Prune(certificate))
    pipeline.add_component("ranker", Ranker(pairs))
    pipeline.connect("retriever.documents", "prune.documents")
    pipeline.connect("prune.documents", "ranker.documents")
    return pipeline


def survivors_of(certificate, listed):
    return {
        listed[place].id
        for place in certificate.survivors([each.score for each in listed], [each.id for each in listed])
    }


def test_between_retriever_and_ranker(asked, store, lists, certificate, pairs):
    pipeline = pipeline_of(store, certificate, pairs)
    for each in asked[::9]:
        given = {"retriever": {"query": each.query}, "ranker": {"query": each.query}}
        found = pipeline.run(given)["ranker"]["documents"]
        kept = survivors_of(certificate, lists[each.query])
        assert {document.id for document in found} == kept
        assert all(document.meta == {"page": 7} for document in found)


def test_in_a_pipeline_run_asynchronously(asked, store, lists, certificate, pairs):
    pipeline = pipeline_of(store, certificate, pairs)
    query = asked[4].query
    given = {"retriever": {"query": query}, "ranker": {"query": query}}
    found = asyncio.run(pipeline.run_async(given))["ranker"]["documents"]
    assert {document.id for document in found} == survivors_of(certificate, lists[query])


@pytest.mark.parametrize("by_path", [True, False])
def test_it_goes_through_a_pipeline_file(by_path, asked, lists, certificate, tmp_path):
    certificate.save(tmp_path / "cert.json")
    pipeline = Pipeline()
    given = str(tmp_path / "cert.json") if by_path else certificate
    pipeline.add_component("prune", Prune(given, any_length=True, id_key="source"))
    text = pipeline.dumps()
    assert (certificate.digest in text) != by_path
    again = Pipeline.loads(text, allowed_modules=["surecut.integrations.haystack"])
    made = again.get_component("prune")
    assert made.to_dict() == pipeline.get_component("prune").to_dict()
    assert (made.any_length, made.id_key) == (True, "source")
    listed = [replace(each, meta={"source": each.id}) for each in lists[asked[0].query]]
    assert len(again.run({"prune": {"documents": listed}})["prune"]["documents"]) == certificate.keep(
        [each.score for each in listed]
    )


def test_a_certificate_changed_in_the_file_is_refused(certificate):
    record = Prune(certificate).to_dict()
    record["init_parameters"]["certificate"]["threshold"] = 0.0
    with pytest.raises(InputError, match="the digest does not match"):
        Prune.from_dict(record)


def test_documents_are_the_same_objects(asked, certificates):
    lists = [haystack_documents(each) for each in asked[:3]]
    for given, kept in zip(lists, Prune(certificates.plain).run_many(lists), strict=True):
        assert [document is each for document, each in zip(kept, given, strict=False)] == [True] * len(kept)
    assert (
        Prune(certificates.plain).run(lists[0], query="a")["documents"] == Prune(certificates.plain).run_many(lists)[0]
    )


def test_a_document_without_a_score_is_an_error(asked, certificates):
    documents = haystack_documents(asked[0])
    documents[1] = Document(id="bare", content="a")
    with pytest.raises(InputError, match=r"document 1 \('bare'\).*document.score"):
        Prune(certificates.plain).run(documents)
