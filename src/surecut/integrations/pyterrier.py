"""PyTerrier: a transformer that prunes, `bm25 >> Prune("cert.json") >> mono`.

Where the certificate appends the pruned documents or fuses both scores, `bm25 >> Prune("cert.json", mono)`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from surecut.certificate import Certificate
from surecut.errors import InputError
from surecut.extras import needed
from surecut.integrations.stage import Given, Pruned, Stage, of_query

needed("pyterrier", "pyterrier")

import pandas as pd  # noqa: E402
import pyterrier as pt  # noqa: E402


class Prune(pt.Transformer):
    """Keeps the documents of each query that the certificate says survive: rows, their order and columns stay.

    With a `reranker` (a transformer) it makes the final list as well, as the certificate has it: rows of the input
    with new scores and ranks.
    """

    def __init__(
        self,
        certificate: Given,
        reranker: pt.Transformer | None = None,
        *,
        system: Mapping[str, str] | None = None,
        any_system: bool = False,
        any_length: bool = False,
    ) -> None:
        super().__init__()
        if reranker is not None and not isinstance(reranker, pt.Transformer):
            raise InputError(f"a reranker is a PyTerrier transformer, not {reranker!r}")
        self.certificate, self.reranker = certificate, reranker  # named as pt.inspect looks for them
        self.system, self.any_system, self.any_length = system or {}, any_system, any_length
        self.stage = Stage(certificate, finishes=reranker is not None, **self._options)

    def __repr__(self) -> str:
        given = self.certificate
        named = f"Certificate({given.digest})" if isinstance(given, Certificate) else repr(str(given))
        second = [] if self.reranker is None else [repr(self.reranker)]
        options = [f"{name}={value!r}" for name, value in self._options.items() if value]
        return f"Prune({', '.join([named, *second, *options])})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prune):
            return NotImplemented
        mine, theirs = ((each.stage.certificate.digest, each.reranker, each._options) for each in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash(("Prune", self.stage.certificate.digest))

    @property
    def _options(self) -> dict[str, Any]:
        return {"system": self.system, "any_system": self.any_system, "any_length": self.any_length}

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The survivors' rows, or with a reranker the final list."""
        pt.validate.result_frame(inp, extra_columns=["score"], context=self)
        for column in ("qid", "docno"):
            if inp[column].isna().any():
                raise InputError(f"row {int(inp[column].isna().argmax())} of the results has no {column}")
        inp = inp.reset_index(drop=True)
        rows = inp.groupby("qid", sort=False).indices
        pruned = {query: self._pruned(query, inp.iloc[places]) for query, places in rows.items()}
        surviving = [places[pruned[query].survivors] for query, places in rows.items()]
        survivors = inp.iloc[np.sort(np.concatenate([np.empty(0, np.int64), *surviving]))].reset_index(drop=True)
        if self.reranker is None:
            return survivors
        reranked = self.reranker.transform(survivors)
        pt.validate.result_frame(reranked, extra_columns=["score"], context=self.reranker)
        second = pd.to_numeric(reranked.set_index(["qid", "docno"])["score"], errors="coerce")
        if not second.index.is_unique:
            query, document = second.index[second.index.duplicated()][0]
            raise InputError(f"the reranker returned document '{document}' twice for query '{query}'")
        finals = [self._final(query, inp.iloc[places], pruned[query], second) for query, places in rows.items()]
        return pd.concat(finals, ignore_index=True) if finals else inp.assign(rank=range(0))

    def _pruned(self, query: Any, rows: pd.DataFrame) -> Pruned:
        with of_query(query):
            return self.stage.prune(rows["score"].to_numpy(), rows["docno"].to_list(), "here in the column score")

    def _final(self, query: Any, rows: pd.DataFrame, pruned: Pruned, reranked: "pd.Series[float]") -> pd.DataFrame:
        """One query's final list; documents that are appended get scores below all others.

        Evaluators sort by score, in 32 bits and with ties of their own: the scores fall from place to place.
        """
        survivors = rows["docno"].iloc[pruned.survivors]
        second = reranked.reindex(pd.MultiIndex.from_product([[query], survivors])).to_numpy(dtype=np.float64)
        if np.isnan(second).any():
            lacking = survivors.iloc[int(np.argmax(np.isnan(second)))]
            raise InputError(f"the reranker returned no score of document '{lacking}' for query '{query}'")
        placed = self.stage.finish(pruned, second)
        scores = [each.score for each in placed if each.score is not None]
        lowest = min(scores, default=0.0)
        scores += [lowest - below for below in range(1, len(placed) - len(scores) + 1)]
        return rows.iloc[[each.place for each in placed]].assign(score=_falling(scores), rank=range(len(placed)))


def _falling(scores: list[float]) -> list[float]:
    """Descending scores, each lowered to the next 32-bit number where it does not differ from the one before."""
    falling: list[float] = []
    for score in scores:
        below = float(np.nextafter(np.float32(falling[-1]), np.float32(-np.inf))) if falling else score
        falling.append(min(score, below))
    return falling
