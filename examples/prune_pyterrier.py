"""PyTerrier: `bm25 >> Prune(certificate) >> mono`, here with BM25 from bm25s, so that no JVM is needed.

pip install 'surecut[pyterrier,bm25]' sentence-transformers
python examples/prune_pyterrier.py
"""

import docstrings
import pandas as pd
import pyterrier as pt
from sentence_transformers import CrossEncoder

from surecut.integrations.pyterrier import Prune

given = docstrings.arguments(__doc__)
collection = docstrings.load()
certificate = docstrings.certificate(collection, given.model, given.certificate)
model = CrossEncoder(given.model)


class BM25(pt.Transformer):
    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        rows = [
            (topic.qid, topic.query, name, score, rank, collection.documents[name])
            for topic in inp.itertuples()
            for rank, (name, score) in enumerate(zip(*collection.candidates(topic.query), strict=True))
        ]
        return pd.DataFrame(rows, columns=["qid", "query", "docno", "score", "rank", "text"])


mono = pt.apply.doc_score(lambda rows: model.predict(rows[["query", "text"]].values.tolist()), batch_size=64)
pipeline = BM25() >> Prune(certificate) >> mono

questions = docstrings.new_questions(collection)
topics = pd.DataFrame({"qid": questions.keys(), "query": questions.values()})
found = pipeline.transform(topics).sort_values("rank")
for qid, question in questions.items():
    docstrings.show(question, found[found["qid"] == qid]["docno"].to_list())
