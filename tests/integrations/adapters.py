"""Every integration behind one face: candidates in, surviving or ranked ids out; common refusals are tested once."""

import numpy as np
import pandas as pd
import pyterrier as pt
from haystack import Document as HaystackDocument
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import NodeWithScore, TextNode
from ranx import Run
from rerankers.documents import Document as RerankersDocument
from rerankers.models.ranker import BaseRanker
from rerankers.results import RankedResults, Result

from surecut.integrations import (
    beir,
    haystack,
    langchain,
    llama_index,
    pyterrier,
    ranx,
    rerankers,
    sentence_transformers,
)


class Predicting:
    """Has the `predict` of sentence-transformers' CrossEncoder."""

    def __init__(self, pairs):
        self.pairs = pairs
        self.seen = 0

    def predict(self, inputs, **_):
        self.seen += len(inputs)
        return np.array([self.pairs.scores(query, [text])[0] for query, text in inputs], dtype=np.float32)


class Ranking(BaseRanker):
    """A ranker of the rerankers library, as its own are written."""

    def __init__(self, pairs, has_scores=True):
        self.pairs, self.has_scores, self.seen = pairs, has_scores, 0

    def score(self, query, doc):
        return self.pairs.scores(query, [doc])[0]

    def rank(self, query, docs, doc_ids=None):
        self.seen += len(docs)
        scored = zip(docs, self.pairs.scores(query, [each.text for each in docs]), strict=True)
        ordered = sorted(scored, key=lambda pair: pair[1], reverse=True)
        results = [Result(document=each, score=score, rank=rank) for rank, (each, score) in enumerate(ordered, 1)]
        return RankedResults(results=results, query=query, has_scores=self.has_scores)


def sentence_transformers_ids(certificate, pairs, each, **options):
    prune = sentence_transformers.Prune(certificate, Predicting(pairs), **options)
    return [
        each.ids[found["corpus_id"]] for found in prune.rank(each.query, each.texts, scores=each.scores, ids=each.ids)
    ]


def rerankers_ids(certificate, pairs, each, **options):
    prune = rerankers.Prune(certificate, Ranking(pairs), **options)
    documents = [RerankersDocument(text, name) for text, name in zip(each.texts, each.ids, strict=True)]
    return [found.doc_id for found in prune.rank(each.query, documents, scores=each.scores)]


def frame_of(each):
    columns = {"docno": each.ids, "score": each.scores, "text": each.texts, "rank": range(len(each.ids))}
    return pd.DataFrame({"qid": each.query_id, "query": each.query, **columns})


def mono(pairs):
    """A PyTerrier transformer that reranks."""
    return pt.apply.doc_score(lambda row: pairs.scores(row["query"], [row["text"]])[0])


def pyterrier_ids(certificate, pairs, each, **options):
    pipeline = pt.Transformer.from_df(frame_of(each)) >> pyterrier.Prune(certificate, **options)
    return pipeline.transform(pd.DataFrame({"qid": [each.query_id], "query": [each.query]}))["docno"].to_list()


def langchain_documents(each):
    return [
        LangChainDocument(text, id=name, metadata={"score": score, "page": 7})
        for name, text, score in zip(each.ids, each.texts, each.scores, strict=True)
    ]


def langchain_ids(certificate, pairs, each, **options):
    kept = langchain.Prune(certificate, **options).compress_documents(langchain_documents(each), each.query)
    return [document.id for document in kept]


def llama_index_nodes(each):
    return [
        NodeWithScore(node=TextNode(text=text, id_=name, metadata={"page": 7}), score=score)
        for name, text, score in zip(each.ids, each.texts, each.scores, strict=True)
    ]


def llama_index_ids(certificate, pairs, each, **options):
    kept = llama_index.Prune(certificate, **options).postprocess_nodes(llama_index_nodes(each))
    return [node.node_id for node in kept]


def haystack_documents(each):
    return [
        HaystackDocument(id=name, content=text, score=score, meta={"page": 7})
        for name, text, score in zip(each.ids, each.texts, each.scores, strict=True)
    ]


def haystack_ids(certificate, pairs, each, **options):
    return [each.id for each in haystack.Prune(certificate, **options).run(haystack_documents(each))["documents"]]


def beir_ids(certificate, pairs, each, **options):
    results = {each.query_id: dict(zip(each.ids, each.scores, strict=True))}
    return list(beir.Prune(certificate, **options).prune(results)[each.query_id])


def ranx_ids(certificate, pairs, each, **options):
    run = Run({each.query_id: dict(zip(each.ids, each.scores, strict=True))}, name="bm25")
    return list(ranx.Prune(certificate, **options).prune(run).to_dict()[each.query_id])


RERANKING = {"sentence-transformers": sentence_transformers_ids, "rerankers": rerankers_ids}
PRUNING = {
    "pyterrier": pyterrier_ids,
    "langchain": langchain_ids,
    "llama-index": llama_index_ids,
    "haystack": haystack_ids,
    "beir": beir_ids,
    "ranx": ranx_ids,
}
ALL = {**RERANKING, **PRUNING}
