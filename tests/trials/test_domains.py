"""Whether two sets of queries differ, as far as it can be seen."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ks_2samp

import surecut as sc
from surecut.measures import as_measure
from surecut.trials.domains import differences, same_distribution


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.5])
def test_the_test_is_the_one_of_kolmogorov_and_smirnov(shift):
    rng = np.random.default_rng(1)
    one, other = rng.standard_normal(300), rng.standard_normal(400) + shift
    assert same_distribution(one, other) == pytest.approx(
        ks_2samp(one, other, method="asymp").pvalue, rel=0.2, abs=1e-9
    )


def test_two_halves_of_one_source_do_not_differ():
    one, other = sc.simulate("dense-electra", 2000, 50, seed=3).split((0.5, 0.5))
    assert differences(one, other, as_measure("RR@10")) == []


def test_another_retriever_and_another_depth_are_named():
    one = replace(sc.simulate("dense-electra", 500, 50), system={"retriever": "a", "reranker": "c"})
    other = sc.simulate("bm25-bert", 500, 40)
    steeper = (other.retriever - other.retriever.min()) ** 2
    other = replace(other, retriever=steeper, system={"retriever": "b", "reranker": "c"})
    told = " ".join(differences(one, other, as_measure("RR@10")))
    assert "fingerprint of the retriever" in told
    assert "reranker is another" not in told
    assert "the length of the lists" in told
    assert "the score profile" in told
    assert "RR@10 with everything reranked" in told
