"""Each library's own call with a real cross-encoder, and the same behind a certificate.

Documents are made in advance: what is timed is the call that reranks them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.integrations.system import Asked, System

Ranked = list[str]


@dataclass(frozen=True)
class Library:
    """What is timed: `full` reranks all that `given` makes of a query, `prune` only prunes, `pruned` does both."""

    name: str
    given: Callable[[Asked], Any]
    full: Callable[[Asked, Any], Ranked]
    prune: Callable[[Asked, Any], Any]
    pruned: Callable[[Asked, Any], Ranked]


class Instant:
    """A model that takes no time: what is left of a call is the pruning."""

    def predict(self, pairs: list[Any], **_: Any) -> Any:
        return np.zeros(len(pairs))


def every(system: System) -> Iterator[Library]:
    for make in (
        sentence_transformers,
        rerankers,
        pyterrier,
        langchain,
        llama_index,
        haystack,
        beir,
        ranx,
    ):
        yield make(system)


def sentence_transformers(system: System) -> Library:
    from sentence_transformers import CrossEncoder

    from surecut.integrations.sentence_transformers import Prune

    model = CrossEncoder(system.model)
    prune, bare = Prune(system.certificate, model), Prune(system.certificate, Instant())

    def named(each: Asked, results: list[dict[str, Any]]) -> Ranked:
        return [each.ids[result["corpus_id"]] for result in results]

    return Library(
        "sentence-transformers",
        lambda each: each.texts,
        lambda each, texts: named(each, model.rank(each.query, texts)),
        lambda each, texts: bare.rank(each.query, texts, scores=each.scores, ids=each.ids),
        lambda each, texts: named(each, prune.rank(each.query, texts, scores=each.scores, ids=each.ids)),
    )


def rerankers(system: System) -> Library:
    from rerankers import Reranker
    from rerankers.documents import Document
    from rerankers.results import RankedResults, Result

    from surecut.integrations.rerankers import Prune

    class Still:
        def rank(self, query: str, docs: list[Document]) -> RankedResults:
            return RankedResults([Result(each, 0.0) for each in docs], query, has_scores=True)

    ranker = Reranker(system.model, model_type="cross-encoder", verbose=0)
    prune, bare = Prune(system.certificate, ranker), Prune(system.certificate, Still())
    return Library(
        "rerankers",
        lambda each: [Document(text, name) for text, name in zip(each.texts, each.ids, strict=True)],
        lambda each, documents: [found.doc_id for found in ranker.rank(each.query, documents)],
        lambda each, documents: bare.rank(each.query, documents, scores=each.scores),
        lambda each, documents: [found.doc_id for found in prune.rank(each.query, documents, scores=each.scores)],
    )


def pyterrier(system: System) -> Library:
    import pandas as pd
    import pyterrier as pt
    from sentence_transformers import CrossEncoder

    from surecut.integrations.pyterrier import Prune

    model = CrossEncoder(system.model)
    mono = pt.apply.doc_score(lambda rows: model.predict(rows[["query", "text"]].values.tolist()), batch_size=32)
    prune = Prune(system.certificate)
    pipeline = prune >> mono

    def frame(each: Asked) -> pd.DataFrame:
        columns = {"docno": each.ids, "score": each.scores, "text": each.texts, "rank": range(len(each.ids))}
        return pd.DataFrame({"qid": each.query_id, "query": each.query, **columns})

    return Library(
        "PyTerrier",
        frame,
        lambda each, rows: mono.transform(rows).sort_values("rank")["docno"].to_list(),
        lambda each, rows: prune.transform(rows),
        lambda each, rows: pipeline.transform(rows).sort_values("rank")["docno"].to_list(),
    )


def langchain(system: System) -> Library:
    from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
    from langchain_community.cross_encoders import HuggingFaceCrossEncoder
    from langchain_core.documents import Document

    from surecut.integrations.langchain import Prune

    model = HuggingFaceCrossEncoder(model_name=system.model)
    reranker = CrossEncoderReranker(model=model, top_n=system.certificate.depth)
    prune = Prune(system.certificate)

    def documents(each: Asked) -> list[Document]:
        listed = zip(each.ids, each.texts, each.scores, strict=True)
        return [Document(text, id=name, metadata={"score": score}) for name, text, score in listed]

    def names(found: Any) -> Ranked:
        return [str(document.id) for document in found]

    return Library(
        "LangChain",
        documents,
        lambda each, found: names(reranker.compress_documents(found, each.query)),
        lambda each, found: prune.compress_documents(found, each.query),
        lambda each, found: names(reranker.compress_documents(prune.compress_documents(found, each.query), each.query)),
    )


def llama_index(system: System) -> Library:
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.postprocessor.sbert_rerank import SentenceTransformerRerank

    from surecut.integrations.llama_index import Prune

    reranker = SentenceTransformerRerank(model=system.model, top_n=system.certificate.depth)
    prune = Prune(system.certificate)

    def nodes(each: Asked) -> list[NodeWithScore]:
        listed = zip(each.ids, each.texts, each.scores, strict=True)
        return [NodeWithScore(node=TextNode(text=text, id_=name), score=score) for name, text, score in listed]

    def names(found: list[NodeWithScore]) -> Ranked:
        return [node.node_id for node in found]

    return Library(
        "LlamaIndex",
        nodes,
        lambda each, found: names(reranker.postprocess_nodes(found, query_str=each.query)),
        lambda each, found: prune.postprocess_nodes(found, query_str=each.query),
        lambda each, found: names(
            reranker.postprocess_nodes(prune.postprocess_nodes(found, query_str=each.query), query_str=each.query)
        ),
    )


def haystack(system: System) -> Library:
    from haystack import Document, Pipeline
    from haystack_integrations.components.rankers.sentence_transformers import SentenceTransformersSimilarityRanker

    from surecut.integrations.haystack import Prune

    def ranking() -> Any:
        return SentenceTransformersSimilarityRanker(model=system.model, top_k=system.certificate.depth)

    whole, pruned = Pipeline(), Pipeline()
    whole.add_component("ranker", ranking())
    pruned.add_component("prune", Prune(system.certificate))
    pruned.add_component("ranker", ranking())
    pruned.connect("prune.documents", "ranker.documents")
    alone = Prune(system.certificate)

    def documents(each: Asked) -> list[Document]:
        listed = zip(each.ids, each.texts, each.scores, strict=True)
        return [Document(id=name, content=text, score=score) for name, text, score in listed]

    def names(found: dict[str, Any]) -> Ranked:
        return [document.id for document in found["ranker"]["documents"]]

    return Library(
        "Haystack",
        documents,
        lambda each, found: names(whole.run({"ranker": {"query": each.query, "documents": found}})),
        lambda each, found: alone.run(found),
        lambda each, found: names(pruned.run({"ranker": {"query": each.query}, "prune": {"documents": found}})),
    )


def beir(system: System) -> Library:
    from beir.reranking import Rerank
    from beir.reranking.models import CrossEncoder

    from surecut.integrations.beir import Prune

    reranker = Rerank(CrossEncoder(system.model), batch_size=32)
    return _of_dicts("BEIR", Prune(system.certificate), reranker, system)


def ranx(system: System) -> Library:
    from beir.reranking import Rerank
    from beir.reranking.models import CrossEncoder
    from ranx import Run

    from surecut.integrations.ranx import Prune

    reranker = Rerank(CrossEncoder(system.model), batch_size=32)
    prune = Prune(system.certificate)
    library = _of_dicts("ranx (a Run in and out)", prune, reranker, system)

    return Library(
        library.name,
        lambda each: Run(library.given(each)),
        lambda each, run: library.full(each, run.to_dict()),
        lambda each, run: prune.prune(run),
        lambda each, run: library.full(each, prune.prune(run).to_dict()),
    )


def _of_dicts(name: str, prune: Any, reranker: Any, system: System) -> Library:
    corpus = {name: {"text": text} for each in system.asked for name, text in zip(each.ids, each.texts, strict=True)}

    def ranked(each: Asked, results: dict[str, dict[str, float]]) -> Ranked:
        scores = reranker.rerank(corpus, {each.query_id: each.query}, results, top_k=1000)[each.query_id]
        return sorted(scores, key=lambda name: -scores[name])

    return Library(
        name,
        lambda each: {each.query_id: dict(zip(each.ids, each.scores, strict=True))},
        ranked,
        lambda each, results: prune.prune(results),
        lambda each, results: ranked(each, prune.prune(results)),
    )
