"""Simulated systems that behave like the paper's twelve; their parameters come from `tuning`.

The two systems of a collection that share a retriever share where it puts relevant documents.
"""

from dataclasses import dataclass

from benchmarks.reproduction.published import CALIBRATION, DEPTH, TEST, Row
from surecut.candidates import Candidates
from surecut.simulation import System, simulate

SEED = 20221
RELEVANT = {"MARCO": 1.06, "Quora": 1.57}  # mean relevant documents a query, as in these collections


@dataclass(frozen=True)
class FirstStage:
    """Where a relevant document stands."""

    median_place: float
    place_spread: float


@dataclass(frozen=True)
class SecondStage:
    """How strong relevant documents look to the reranker, and how strong the retriever's favourites."""

    strength: float
    shallow_strength: float


FIRST_STAGES: dict[tuple[str, str], FirstStage] = {
    ("MARCO", "BM25"): FirstStage(25.6236, 2.8306),
    ("MARCO", "DPR"): FirstStage(5.9975, 2.4148),
    ("MARCO", "UniCOIL"): FirstStage(3.9355, 1.9971),
    ("Quora", "BM25"): FirstStage(0.2931, 2.8315),
    ("Quora", "DPR"): FirstStage(8.2758, 3.6801),
    ("Quora", "UniCOIL"): FirstStage(0.9835, 2.3192),
}

SECOND_STAGES: dict[tuple[str, str, str], SecondStage] = {
    ("MARCO", "BM25", "MonoBERT"): SecondStage(2.6893, 1.1848),
    ("MARCO", "BM25", "MonoELECTRA"): SecondStage(2.9386, 1.4447),
    ("MARCO", "DPR", "MonoBERT"): SecondStage(2.7901, 1.9118),
    ("MARCO", "DPR", "MonoELECTRA"): SecondStage(3.0144, 1.9448),
    ("MARCO", "UniCOIL", "MonoBERT"): SecondStage(3.2925, 3.0033),
    ("MARCO", "UniCOIL", "MonoELECTRA"): SecondStage(3.4697, 3.0096),
    ("Quora", "BM25", "MonoBERT"): SecondStage(5.2413, 1.4336),
    ("Quora", "BM25", "MonoELECTRA"): SecondStage(6.2400, 3.7190),
    ("Quora", "DPR", "MonoBERT"): SecondStage(5.1702, 2.5826),
    ("Quora", "DPR", "MonoELECTRA"): SecondStage(4.7370, 2.7547),
    ("Quora", "UniCOIL", "MonoBERT"): SecondStage(7.5402, 5.3577),
    ("Quora", "UniCOIL", "MonoELECTRA"): SecondStage(4.9146, 0.9491),
}


def simulated_system(row: Row) -> System:
    """The system that stands for a row of the paper."""
    first = FIRST_STAGES[row.collection, row.retriever]
    return system_of(row, first, SECOND_STAGES[row.collection, row.retriever, row.reranker])


def system_of(row: Row, first: FirstStage, second: SecondStage) -> System:
    """A system with these parameters, named for a row."""
    return System(
        row.name,
        f"tuned to {row.name} on {row.collection}",
        median_place=first.median_place,
        place_spread=first.place_spread,
        strength=second.strength,
        shallow_strength=second.shallow_strength,
        relevant=RELEVANT[row.collection],
    )


def pool_size(row: Row) -> int:
    """As many queries as the paper merges."""
    return CALIBRATION + TEST[row.collection]


def pool(row: Row, queries: int | None = None, depth: int = DEPTH) -> Candidates:
    """The queries of a row's simulated system: the population that its trials draw from."""
    return simulate(simulated_system(row), queries or pool_size(row), depth, SEED)
