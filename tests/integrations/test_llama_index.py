"""LlamaIndex: the postprocessor by itself, in a query engine, and asynchronously."""

import asyncio
import pickle

import pytest
from llama_index.core import Settings
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import QueryBundle

from surecut import InputError
from surecut.integrations.llama_index import Prune
from tests.integrations.adapters import llama_index_nodes


class Found(BaseRetriever):
    def __init__(self, asked):
        self.asked = {each.query: each for each in asked}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle):
        return llama_index_nodes(self.asked[query_bundle.query_str])


class Reranker(BaseNodePostprocessor):
    pairs: object

    def _postprocess_nodes(self, nodes, query_bundle=None):
        for node in nodes:
            node.score = self.pairs.scores(query_bundle.query_str, [node.text])[0]
        return sorted(nodes, key=lambda node: -node.score)


@pytest.fixture
def engine(asked, pairs, certificates, monkeypatch):
    monkeypatch.setattr(Settings, "_llm", MockLLM())
    return RetrieverQueryEngine(
        Found(asked),
        get_response_synthesizer(llm=MockLLM(), response_mode="no_text"),
        node_postprocessors=[Prune(certificates.plain), Reranker(pairs=pairs)],
    )


def test_in_a_query_engine(engine, asked, certificates, expected):
    for each in asked[::7]:
        nodes = engine.query(each.query).source_nodes
        assert [node.node_id for node in nodes] == [name for name, _ in expected(certificates.plain, each)]
        assert all(node.metadata == {"page": 7} for node in nodes)


def test_in_an_async_query_engine(engine, asked, certificates, expected):
    response = asyncio.run(engine.aquery(asked[3].query))
    assert [node.node_id for node in response.source_nodes] == [
        name for name, _ in expected(certificates.plain, asked[3])
    ]


def test_nodes_are_the_same_objects_in_their_order(asked, certificates):
    prune = Prune(certificates.plain)
    lists = [llama_index_nodes(each) for each in asked[:4]]
    for given, kept in zip(lists, prune.postprocess_many(lists), strict=True):
        assert [node is each for node, each in zip(kept, given, strict=False)] == [True] * len(kept)
        waited = asyncio.run(prune.apostprocess_nodes(given, query_str="a"))
        assert [node.node_id for node in waited] == [node.node_id for node in kept]


def test_a_node_without_a_score_is_an_error(asked, certificates):
    nodes = llama_index_nodes(asked[0])
    nodes[2].score = None
    with pytest.raises(InputError, match=rf"document 2 \('{nodes[2].node_id}'\).*node.score"):
        Prune(certificates.plain).postprocess_nodes(nodes)


def test_ids_may_live_in_the_metadata(asked, certificates):
    nodes = llama_index_nodes(asked[0])
    for node, name in zip(nodes, asked[0].ids, strict=True):
        node.node.metadata["source_id"] = name
    kept = Prune(certificates.plain, id_key="source_id").postprocess_nodes(nodes)
    assert len(kept) == certificates.plain.keep(asked[0].scores)


def test_options_are_checked_and_copies_too(asked, certificates, caplog):
    with pytest.raises(ValueError, match="any_lenght"):
        Prune(certificates.plain, any_lenght=True)
    copied = Prune(certificates.plain).model_copy(update={"certificate": certificates.by_score})
    kept = copied.postprocess_nodes(llama_index_nodes(asked[0]))
    assert len(kept) == certificates.by_score.keep(asked[0].scores)
    again = pickle.loads(pickle.dumps(copied))
    assert again.stage.certificate == certificates.by_score
    assert caplog.records == []


def test_the_older_way_to_copy_is_the_same(asked, certificates):
    copied = Prune(certificates.plain).copy(update={"certificate": certificates.by_score})
    assert copied.stage.certificate == certificates.by_score


def test_a_dict_and_back_after_use(asked, certificates):
    prune = Prune(certificates.by_rank)
    kept = prune.postprocess_nodes(llama_index_nodes(asked[0]))
    again = Prune.from_dict(prune.to_dict())
    assert [node.node_id for node in again.postprocess_nodes(llama_index_nodes(asked[0]))] == [
        node.node_id for node in kept
    ]


def test_it_has_json(certificates, tmp_path):
    certificates.plain.save(tmp_path / "cert.json")
    assert str(tmp_path / "cert.json") in Prune(tmp_path / "cert.json").to_json()
    assert certificates.plain.digest in Prune(certificates.plain).to_json()
