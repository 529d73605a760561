"""One small two-stage system of real parts (BM25, an ONNX cross-encoder) and certificates of several kinds for it."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

import surecut as sc
from surecut.system.recipe import read_recipe
from tests.system.conftest import beir, cache, models, scored  # noqa: F401


class OnnxPairs:
    """Query and document in, score out, pair by pair: what every library's reranker here is made of."""

    def __init__(self, folder):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.network = onnxruntime.InferenceSession(str(folder / "model.onnx"))

    def scores(self, query, texts):
        return [self._score(query, text) for text in texts]

    def _score(self, query, text):
        pair = self.tokenizer.encode(query, text)
        given = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        (logits,) = self.network.run(None, {name: np.array([values]) for name, values in given.items()})
        return float(logits[0, 0])


@dataclass
class Asked:
    """A query and its candidates in retriever order."""

    query_id: str
    query: str
    ids: list[str]
    texts: list[str]
    scores: list[float]


@pytest.fixture(scope="session")
def pairs(models):  # noqa: F811
    return OnnxPairs(models.cross)


@pytest.fixture(scope="session")
def asked(scored):  # noqa: F811
    """Every query of the collection with what BM25 found for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SURECUT_CACHE", str(scored.folder.parent / "cache"))
        collection = read_recipe(scored.recipe).collection
        documents = collection.documents
    texts = dict(zip(documents.ids.series(), documents.texts.take(range(len(documents.ids))), strict=True))
    queries = dict(zip(collection.queries.ids, collection.queries.texts, strict=True))
    data, listed = scored.data, []
    for place, name in enumerate(data.query_ids):
        rows = slice(data.offsets[place], data.offsets[place + 1])
        ids = data.doc_ids[rows].to_list()
        listed.append(Asked(name, queries[name], ids, [texts[each] for each in ids], data.retriever[rows].tolist()))
    return listed


@pytest.fixture(scope="session")
def certificates(scored):  # noqa: F811
    """By what becomes of the pruned documents, and of the retriever's scores."""

    def made(**options):
        certificate = sc.calibrate(scored.data, target=sc.agreement(0.5, k=5), **options)
        assert certificate.mean_kept < 20
        return certificate

    return SimpleNamespace(
        plain=made(),
        append=made(tail="append"),
        fused=made(fusion=0.3),
        both=made(tail="append", fusion=0.3),
        by_score=made(rule="score"),
        by_rank=made(rule="rank"),
        by_gap=made(rule="gap"),
    )


@pytest.fixture(scope="session")
def expected(pairs):
    """The final list of a query by hand: documents and scores, those of appended ones None."""

    def final(certificate, each):
        kept = certificate.survivors(each.scores, each.ids).tolist()
        second = pairs.scores(each.query, [each.texts[place] for place in kept])
        beta = certificate.fusion["beta"]
        score = [beta * each.scores[place] + (1 - beta) * other for place, other in zip(kept, second, strict=True)]
        order = sorted(range(len(kept)), key=lambda rank: (-score[rank], rank))
        listed = [(each.ids[kept[rank]], score[rank]) for rank in order]
        if certificate.tail == "append":
            listed += [(name, None) for name in each.ids[len(kept) :]]
        return listed

    return final
