"""ranx: a run through a certificate, compared with the run as it was.

pip install 'surecut[ranx,bm25]' sentence-transformers
python examples/prune_ranx.py
"""

import docstrings
from ranx import Qrels, Run, evaluate
from sentence_transformers import CrossEncoder

from surecut.integrations.ranx import Prune

given = docstrings.arguments(__doc__)
collection = docstrings.load()
certificate = docstrings.certificate(collection, given.model, given.certificate)
model = CrossEncoder(given.model)

questions = docstrings.new_questions(collection)
bm25 = Run(
    {name: dict(zip(*collection.candidates(text), strict=True)) for name, text in questions.items()}, name="bm25"
)
pruned = Prune(certificate).prune(bm25).to_dict()

reranked = {}
for name, question in questions.items():
    scores = model.predict([(question, collection.documents[each]) for each in pruned[name]])
    reranked[name] = dict(zip(pruned[name], scores.tolist(), strict=True))
    docstrings.show(question, sorted(reranked[name], key=lambda each: -reranked[name][each]))
qrels = Qrels({name: {name: 1} for name in questions})
before, after = (evaluate(qrels, run, "mrr@10") for run in (bm25, Run(reranked)))
print(f"RR@10: BM25 {before:.2f}, pruned and reranked {after:.2f}")
