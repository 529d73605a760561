"""BEIR: results in, results with the survivors out, ready for `beir.reranking.Rerank`.

>>> results = Prune("cert.json").prune(retriever.retrieve(corpus, queries))  # doctest: +SKIP
>>> reranked = Rerank(CrossEncoder(...)).rerank(corpus, queries, results, top_k=1000)  # doctest: +SKIP
"""

from surecut.integrations.dicts import DictPrune


class Prune(DictPrune):
    """BEIR's `{query: {document: score}}` results through a certificate; needs nothing of BEIR."""
