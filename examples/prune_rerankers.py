"""rerankers: `Reranker.rank` with the retriever's scores beside the documents, awaited.

pip install 'surecut[rerankers,bm25]' 'rerankers[transformers]' sentence-transformers
python examples/prune_rerankers.py
"""

import asyncio

import docstrings
from rerankers import Reranker

from surecut.integrations.rerankers import Prune

given = docstrings.arguments(__doc__)
collection = docstrings.load()
certificate = docstrings.certificate(collection, given.model, given.certificate)
prune = Prune(certificate, Reranker(given.model, model_type="cross-encoder", verbose=0))


async def main() -> None:
    for question in docstrings.new_questions(collection).values():
        names, scores = collection.candidates(question)
        texts = [collection.documents[name] for name in names]
        ranked = await prune.rank_async(question, texts, doc_ids=names, scores=scores)
        docstrings.show(question, [result.doc_id for result in ranked])


asyncio.run(main())
