"""sentence-transformers: `CrossEncoder.rank` with the retriever's scores beside the documents.

pip install 'surecut[sentence-transformers,bm25]'
python examples/prune_sentence_transformers.py
"""

import docstrings
from sentence_transformers import CrossEncoder

from surecut.integrations.sentence_transformers import Prune

given = docstrings.arguments(__doc__)
collection = docstrings.load()
certificate = docstrings.certificate(collection, given.model, given.certificate)
prune = Prune(certificate, CrossEncoder(given.model))

for question in docstrings.new_questions(collection).values():
    names, scores = collection.candidates(question)
    texts = [collection.documents[name] for name in names]
    ranked = prune.rank(question, texts, scores=scores, ids=names)
    docstrings.show(question, [names[result["corpus_id"]] for result in ranked])
