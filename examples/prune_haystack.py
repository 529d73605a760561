"""Haystack: a component between a retriever and a ranker, in a pipeline that goes through YAML.

pip install 'surecut[haystack,bm25]' sentence-transformers-haystack
python examples/prune_haystack.py
"""

import docstrings
from haystack import Document, Pipeline, component
from haystack_integrations.components.rankers.sentence_transformers import SentenceTransformersSimilarityRanker

from surecut.integrations.haystack import Prune

given = docstrings.arguments(__doc__)
collection = docstrings.load()
certificate = docstrings.certificate(collection, given.model, given.certificate)


@component
class BM25:
    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        found = zip(*collection.candidates(query), strict=True)
        return {
            "documents": [Document(id=name, content=collection.documents[name], score=score) for name, score in found]
        }


reranking = Pipeline()
reranking.add_component("prune", Prune(str(given.certificate)))
ranker = SentenceTransformersSimilarityRanker(model=given.model, top_k=certificate.depth, scale_score=False)
reranking.add_component("ranker", ranker)
reranking.connect("prune.documents", "ranker.documents")

trusted = ["surecut.integrations.haystack", "haystack_integrations.components.rankers.sentence_transformers.*"]
pipeline = Pipeline.loads(reranking.dumps(), allowed_modules=trusted)
pipeline.add_component("retriever", BM25())
pipeline.connect("retriever.documents", "prune.documents")

for question in docstrings.new_questions(collection).values():
    found = pipeline.run({"retriever": {"query": question}, "ranker": {"query": question}})
    docstrings.show(question, [document.id for document in found["ranker"]["documents"]])
