"""LlamaIndex: a node postprocessor that prunes, before the one that reranks.

pip install 'surecut[llama-index,bm25]' llama-index-postprocessor-sbert-rerank
python examples/prune_llama_index.py
"""

import docstrings
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.postprocessor.sbert_rerank import SentenceTransformerRerank

from surecut.integrations.llama_index import Prune

given = docstrings.arguments(__doc__)
collection = docstrings.load()
certificate = docstrings.certificate(collection, given.model, given.certificate)


class BM25(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(text=collection.documents[name], id_=name), score=score)
            for name, score in zip(*collection.candidates(query_bundle.query_str), strict=True)
        ]


retriever = BM25()
steps = [Prune(certificate), SentenceTransformerRerank(model=given.model, top_n=certificate.depth)]

for question in docstrings.new_questions(collection).values():
    nodes = retriever.retrieve(question)
    for step in steps:  # or: as_query_engine(node_postprocessors=steps)
        nodes = step.postprocess_nodes(nodes, query_str=question)
    docstrings.show(question, [node.node_id for node in nodes])
