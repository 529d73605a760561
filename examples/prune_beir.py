"""BEIR: results of a retriever in, results with the survivors out, then BEIR's own reranking.

pip install 'surecut[beir,bm25]'
python examples/prune_beir.py
"""

import docstrings
from beir.reranking import Rerank
from beir.reranking.models import CrossEncoder

from surecut.integrations.beir import Prune

given = docstrings.arguments(__doc__)
collection = docstrings.load()
certificate = docstrings.certificate(collection, given.model, given.certificate)

questions = docstrings.new_questions(collection)
results = {name: dict(zip(*collection.candidates(text), strict=True)) for name, text in questions.items()}
pruned = Prune(certificate).prune(results)

corpus = {name: {"text": text} for name, text in collection.documents.items()}
reranked = Rerank(CrossEncoder(given.model), batch_size=64).rerank(corpus, questions, pruned, top_k=certificate.depth)
for name, scores in reranked.items():
    docstrings.show(questions[name], sorted(scores, key=lambda each: -scores[each]))
