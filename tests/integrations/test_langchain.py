"""LangChain: as a compressor in its own pipeline, and over its own vector store."""

import asyncio
import zlib

import numpy as np
import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker, DocumentCompressorPipeline
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

import surecut as sc
from surecut import InputError
from surecut.integrations.langchain import Prune, PrunedRetriever
from tests.integrations.adapters import langchain_documents


class CrossEncoder(BaseCrossEncoder):
    def __init__(self, pairs):
        self.pairs, self.seen = pairs, 0

    def score(self, text_pairs):
        self.seen += len(text_pairs)
        return [self.pairs.scores(query, [text])[0] for query, text in text_pairs]


class Found(BaseRetriever):
    """BM25's lists, with their scores in the metadata."""

    lists: dict

    def _get_relevant_documents(self, query, *, run_manager):
        return list(self.lists[query])


@pytest.fixture
def retriever(asked):
    return Found(lists={each.query: langchain_documents(each) for each in asked})


class Hashing(Embeddings):
    """Words hashed into 64 places."""

    def embed_query(self, text):
        vector = np.zeros(64)
        for word in text.split():
            vector[zlib.crc32(word.encode()) % 64] += 1
        return vector.tolist()

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


@pytest.fixture(scope="module")
def store(asked):
    texts = {name: text for each in asked for name, text in zip(each.ids, each.texts, strict=True)}
    filled = InMemoryVectorStore(Hashing())
    filled.add_documents([Document(text, id=name, metadata={"page": 7}) for name, text in texts.items()])
    return filled


@pytest.fixture(scope="module")
def dense(asked, store):
    """A certificate about the vector store: its lists of 40, their scores from the store itself."""
    first = {each.query_id: store.similarity_search_with_score(each.query, k=40) for each in asked}
    run = {query: {document.id: score for document, score in found} for query, found in first.items()}
    draw = np.random.default_rng(0)
    second = {
        query: {name: score + draw.normal(0, 0.02) for name, score in found.items()} for query, found in run.items()
    }
    return sc.calibrate(sc.Candidates.from_dicts(run, second), target=sc.agreement(0.6, k=5))


def test_prune_and_rerank_in_one_pipeline(asked, pairs, certificates, expected, retriever):
    model = CrossEncoder(pairs)
    steps = DocumentCompressorPipeline(
        transformers=[Prune(certificates.plain), CrossEncoderReranker(model=model, top_n=1000)]
    )
    chain = ContextualCompressionRetriever(base_retriever=retriever, base_compressor=steps)
    for each in asked[::7]:
        assert [found.id for found in chain.invoke(each.query)] == [
            name for name, _ in expected(certificates.plain, each)
        ]
    assert model.seen == sum(certificates.plain.keep(each.scores) for each in asked[::7])


def test_documents_are_the_same_objects(asked, certificates):
    given = langchain_documents(asked[0])
    kept = Prune(certificates.plain).compress_documents(given, asked[0].query)
    assert all(any(document is each for each in given) for document in kept)
    assert [given.index(document) for document in kept] == list(range(len(kept)))
    assert all(document.metadata["page"] == 7 for document in kept)


def test_async_and_batches(asked, certificates, retriever):
    pruned = PrunedRetriever(prune=Prune(certificates.plain), source=retriever)
    queries = [each.query for each in asked[:5]]
    alone = [[found.id for found in pruned.invoke(query)] for query in queries]
    assert [[found.id for found in each] for each in pruned.batch(queries)] == alone
    assert [[found.id for found in each] for each in asyncio.run(pruned.abatch(queries))] == alone
    many = Prune(certificates.plain).compress_many([retriever.invoke(query) for query in queries])
    assert [[found.id for found in each] for each in many] == alone
    waited = asyncio.run(Prune(certificates.plain).acompress_documents(retriever.invoke(queries[0]), queries[0]))
    assert [found.id for found in waited] == alone[0]


def test_a_vector_store_is_asked_for_scores_at_the_certificates_depth(asked, store, dense):
    pruned = PrunedRetriever(prune=Prune(dense), source=store)
    sizes = set()
    for each in asked[::9]:
        listed = store.similarity_search_with_score(each.query, k=40)
        ids, scores = [document.id for document, _ in listed], [score for _, score in listed]
        kept = {ids[place] for place in dense.survivors(scores, ids)}
        found = pruned.invoke(each.query)
        assert {document.id for document in found} == kept
        assert {document.id for document in asyncio.run(pruned.ainvoke(each.query))} == kept
        assert all(document.metadata["page"] == 7 for document in found)
        assert [document.metadata["score"] for document in found] == pytest.approx(scores[: len(found)])
        sizes.add(len(found))
    assert max(sizes) < 40
    assert all("score" not in document.metadata for document, _ in listed)


def test_another_k_is_refused(store, dense):
    with pytest.raises(InputError, match=r"asks for 10 documents.*lists of 40"):
        PrunedRetriever(prune=Prune(dense), source=store, search_kwargs={"k": 10}).invoke("butest")


def test_distances_are_turned_round_or_refused(asked, certificates):
    each = asked[0]
    given = langchain_documents(each)
    for document in given:
        document.metadata["distance"] = -document.metadata.pop("score")
    with pytest.raises(InputError, match=r"metadata\['score'\]"):
        Prune(certificates.plain).compress_documents(given, each.query)
    with pytest.raises(InputError, match="as distances do"):
        Prune(certificates.plain, score_key="distance").compress_documents(given, each.query)
    kept = Prune(certificates.plain, score_key="distance", distance=True).compress_documents(given, each.query)
    assert len(kept) == certificates.plain.keep(each.scores)


def test_ids_may_live_in_the_metadata(asked, certificates):
    given = langchain_documents(asked[0])
    for document in given:
        document.metadata["source_id"], document.id = document.id, None
    kept = Prune(certificates.plain, id_key="source_id").compress_documents(given, "")
    assert {document.metadata["source_id"] for document in kept} == {
        asked[0].ids[place] for place in certificates.plain.survivors(asked[0].scores, asked[0].ids)
    }


def test_a_wrong_scale_inside_the_range_shows_within_eight_lists(asked, certificates):
    def small(each):
        given = langchain_documents(each)
        for document in given:
            document.metadata["score"] /= 10
        return given

    prune = Prune(certificates.plain)
    different = {each.scores[0]: each for each in asked}
    lists = [small(each) for each in different.values()]
    prune.compress_many(lists[:7])
    with pytest.raises(InputError, match="the best scores of 8 lists"):
        prune.compress_documents(lists[7], "")
    right = Prune(certificates.plain)
    right.compress_many([langchain_documents(each) for each in asked])
    right.compress_many(lists)  # the scale was seen to be right: odd lists are the monitor's business


def test_a_wrong_option_is_refused(certificates):
    with pytest.raises(ValueError, match="scorekey"):
        Prune(certificates.plain, scorekey="x")


def test_distances_may_be_numpys(asked, certificates):
    """As vector libraries give them; in any order."""
    each = asked[0]
    given = langchain_documents(each)
    for document in given:
        document.metadata["score"] = np.float32(-document.metadata["score"])
    shuffled = [given[place] for place in np.random.default_rng(0).permutation(len(given))]
    kept = Prune(certificates.plain, distance=True).compress_documents(shuffled, each.query)
    assert {document.id for document in kept} == {
        each.ids[place] for place in certificates.plain.survivors(each.scores, each.ids)
    }


def test_a_copy_does_what_it_shows(asked, certificates):
    prune, given = Prune(certificates.plain), langchain_documents(asked[0])
    copied = prune.model_copy(update={"certificate": certificates.by_score})
    assert len(copied.compress_documents(given, "")) == certificates.by_score.keep(asked[0].scores)
    assert len(prune.compress_documents(given, "")) == certificates.plain.keep(asked[0].scores)
    with pytest.raises(InputError, match="--tail drop"):
        prune.model_copy(update={"certificate": certificates.append})
    with pytest.raises(ValueError, match="frozen"):
        prune.any_length = True


def test_what_is_dumped_comes_back_and_is_checked(asked, certificates, tmp_path):
    certificates.plain.save(tmp_path / "cert.json")
    assert Prune(tmp_path / "cert.json").model_dump()["certificate"] == str(tmp_path / "cert.json")
    record = Prune(certificates.plain, any_length=True).model_dump()
    assert Prune(**record).stage.certificate == certificates.plain
    record["certificate"]["threshold"] = -1.0
    for load in (lambda: Prune(**record), lambda: Prune.model_validate(record)):
        with pytest.raises(ValueError, match="the digest does not match"):
            load()


def test_a_retriever_takes_no_option_it_does_not_know(retriever, certificates):
    with pytest.raises(ValueError, match="k\n"):
        PrunedRetriever(prune=Prune(certificates.plain), source=retriever, k=3)


def test_pairs_of_documents_and_scores_are_no_documents(asked, certificates):
    """What similarity_search_with_score gives."""
    pairs = list(zip(langchain_documents(asked[0]), asked[0].scores, strict=True))
    with pytest.raises(InputError, match=r"holds a tuple: .*metadata\['score'\], or let PrunedRetriever"):
        Prune(certificates.plain).compress_documents(pairs, "a question")


def test_documents_may_come_one_by_one(asked, certificates):
    given = langchain_documents(asked[0])
    assert len(Prune(certificates.plain).compress_documents(iter(given), "")) < len(given)
