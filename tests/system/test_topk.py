"""The best k of many scores, against sorting all of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surecut.system.topk import best

SCORES = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.5, np.float32(0.1)]), max_size=40)


def by_sorting(scores, ties, k, floor):
    """Everything above the floor by (score, tie order), largest first."""
    places = [place for place in range(len(scores)) if scores[place] > floor]
    return sorted(places, key=lambda place: (scores[place], ties[place]), reverse=True)[:k]


@given(SCORES, st.integers(1, 50), st.sampled_from([-np.inf, 0.0, 1.0]), st.randoms())
def test_best_is_what_sorting_everything_gives(scores, k, floor, random):
    ties = list(range(len(scores)))
    random.shuffle(ties)
    hits = best(np.array(scores, np.float32), np.array(ties, np.int32), k, floor)
    expected = by_sorting(np.array(scores, np.float32), ties, k, floor)
    assert hits.documents.tolist() == expected
    assert hits.scores.tolist() == [np.float32(scores[place]) for place in expected]


def test_ties_at_the_cut_off_go_to_the_last_id():
    hits = best(np.ones(9, np.float32), np.array([3, 8, 1, 0, 7, 2, 6, 5, 4], np.int32), 3)
    assert hits.documents.tolist() == [1, 4, 6]
