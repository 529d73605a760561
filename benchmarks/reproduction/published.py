"""What the paper reports (Li et al., EMNLP 2022): its Tables 1 to 3, its protocol, and two numbers of its figures."""

from collections.abc import Mapping
from dataclasses import dataclass

COLLECTIONS = ("MARCO", "Quora")
RETRIEVERS = ("BM25", "DPR", "UniCOIL")
RERANKERS = ("MonoBERT", "MonoELECTRA")
METHODS = ("CEC", "EST", "ERT")

DEPTH = 1000
TRIALS = 100
CONFIDENCE = 0.9
DELTA = 0.1
CALIBRATION = 5000
TEST = {"MARCO": 6980, "Quora": 10_000}

SMALLEST_BOUND = 0.61  # of the risk, about, in its figure of the confidence correction
CONFIDENCE_FALLS_AT = 0.6137  # the level below which, in that figure, the corrected confidence leaves 90%


@dataclass(frozen=True)
class Result:
    """A method's line in Table 3."""

    measure: float  # MRR@10
    confidence: float | None
    coverage: float
    size: float  # mean, of 1,000


@dataclass(frozen=True)
class Row:
    """One of the twelve systems, with what all three tables say of it."""

    collection: str
    retriever: str
    reranker: str
    first_stage: float  # MRR@10
    reranked: float  # MRR@10, with fusion
    target: float
    methods: Mapping[str, Result]

    @property
    def name(self) -> str:
        return f"{self.retriever} + {self.reranker}"

    @property
    def full_name(self) -> str:
        return f"{self.collection}, {self.name}"


FIRST_STAGE = {
    ("MARCO", "BM25"): 0.185,
    ("MARCO", "DPR"): 0.311,
    ("MARCO", "UniCOIL"): 0.348,
    ("Quora", "BM25"): 0.781,
    ("Quora", "DPR"): 0.434,
    ("Quora", "UniCOIL"): 0.659,
}

RERANKED = {
    ("MARCO", "BM25", "MonoBERT"): 0.369,
    ("MARCO", "DPR", "MonoBERT"): 0.378,
    ("MARCO", "UniCOIL", "MonoBERT"): 0.383,
    ("MARCO", "BM25", "MonoELECTRA"): 0.399,
    ("MARCO", "DPR", "MonoELECTRA"): 0.415,
    ("MARCO", "UniCOIL", "MonoELECTRA"): 0.415,
    ("Quora", "BM25", "MonoBERT"): 0.840,
    ("Quora", "DPR", "MonoBERT"): 0.728,
    ("Quora", "UniCOIL", "MonoBERT"): 0.832,
    ("Quora", "BM25", "MonoELECTRA"): 0.823,
    ("Quora", "DPR", "MonoELECTRA"): 0.653,
    ("Quora", "UniCOIL", "MonoELECTRA"): 0.817,
}

# target; CEC: MRR@10, confidence, coverage, size; EST and ERT: MRR@10, coverage, size
_TABLE_3 = {
    ("MARCO", "BM25", "MonoBERT"): (0.350, (0.359, 0.870, 0.870, 451), (0.350, 0.540, 139), (0.350, 0.510, 149)),
    ("MARCO", "UniCOIL", "MonoBERT"): (0.350, (0.360, 0.900, 0.900, 15), (0.350, 0.480, 9), (0.352, 0.460, 7)),
    ("MARCO", "DPR", "MonoBERT"): (0.350, (0.360, 0.900, 0.900, 22), (0.350, 0.500, 11), (0.353, 0.730, 11)),
    ("MARCO", "BM25", "MonoELECTRA"): (0.380, (0.389, 0.894, 0.910, 602), (0.381, 0.580, 280), (0.381, 0.550, 246)),
    ("MARCO", "UniCOIL", "MonoELECTRA"): (0.380, (0.390, 0.900, 0.910, 18), (0.380, 0.520, 13), (0.383, 0.750, 9)),
    ("MARCO", "DPR", "MonoELECTRA"): (0.380, (0.389, 0.900, 0.900, 27), (0.381, 0.580, 16), (0.382, 0.580, 17)),
    ("Quora", "BM25", "MonoBERT"): (0.780, (0.789, 0.900, 0.910, 2), (0.780, 0.510, 2), (0.780, 0.600, 3)),
    ("Quora", "UniCOIL", "MonoBERT"): (0.780, (0.790, 0.900, 0.900, 16), (0.780, 0.560, 13), (0.782, 0.640, 14)),
    ("Quora", "DPR", "MonoBERT"): (0.620, (0.632, 0.900, 0.940, 40), (0.620, 0.500, 30), (0.621, 0.490, 29)),
    ("Quora", "BM25", "MonoELECTRA"): (0.780, (0.790, 0.900, 0.900, 3), (0.780, 0.460, 3), (0.780, 0.560, 2)),
    ("Quora", "UniCOIL", "MonoELECTRA"): (0.780, (0.790, 0.900, 0.910, 3), (0.785, 0.540, 3), (0.782, 0.600, 3)),
    ("Quora", "DPR", "MonoELECTRA"): (0.620, (0.634, 0.900, 0.950, 282), (0.620, 0.530, 155), (0.620, 0.540, 149)),
}


def _row(collection: str, retriever: str, reranker: str) -> Row:
    target, cec, est, ert = _TABLE_3[collection, retriever, reranker]
    empirical = {name: Result(each[0], None, *each[1:]) for name, each in (("EST", est), ("ERT", ert))}
    return Row(
        collection,
        retriever,
        reranker,
        FIRST_STAGE[collection, retriever],
        RERANKED[collection, retriever, reranker],
        target,
        {"CEC": Result(*cec), **empirical},
    )


ROWS = tuple(
    _row(collection, retriever, reranker)
    for collection in COLLECTIONS
    for reranker in RERANKERS
    for retriever in RETRIEVERS
)


def row(collection: str, retriever: str, reranker: str) -> Row:
    """One system by its names."""
    return next(
        each for each in ROWS if (each.collection, each.retriever, each.reranker) == (collection, retriever, reranker)
    )
