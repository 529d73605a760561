"""LangChain: a retriever, a certificate and a cross-encoder in one compression pipeline.

pip install 'surecut[langchain,bm25]' langchain-classic langchain-community sentence-transformers
python examples/prune_langchain.py
"""

import docstrings
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
from langchain_community.cross_encoders import HuggingFaceCrossEncoder
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from surecut.integrations.langchain import Prune, PrunedRetriever

given = docstrings.arguments(__doc__)
collection = docstrings.load()
certificate = docstrings.certificate(collection, given.model, given.certificate)


class BM25(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [
            Document(collection.documents[name], id=name, metadata={"score": score})
            for name, score in zip(*collection.candidates(query), strict=True)
        ]


pruned = PrunedRetriever(prune=Prune(certificate), source=BM25())
model = HuggingFaceCrossEncoder(model_name=given.model)
retriever = ContextualCompressionRetriever(
    base_retriever=pruned, base_compressor=CrossEncoderReranker(model=model, top_n=certificate.depth)
)

questions = list(docstrings.new_questions(collection).values())
for question, documents in zip(questions, retriever.batch(questions), strict=True):
    docstrings.show(question, [str(document.id) for document in documents])
