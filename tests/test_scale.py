"""Scores that cannot be the certificate's are refused; the retriever's own never are."""

import json
from dataclasses import replace

import numpy as np
import pytest

import surecut as sc
from surecut.certificate import parse_certificate
from surecut.scale import ENOUGH_LISTS, Scale


def scale_of(data):
    first = data.offsets[:-1][data.lengths > 0]
    return Scale.of(data.retriever[first], float(data.retriever.min()), float(data.retriever.max()))


@pytest.fixture(scope="module")
def data():
    return sc.read_table("example:scifact-bm25-minilm")


@pytest.fixture(scope="module")
def certificate(data):
    return sc.calibrate(data, target=sc.max_drop(0.05))


def _lists(data):
    return [data.retriever[low:high] for low, high in zip(data.offsets[:-1], data.offsets[1:], strict=True)]


def test_the_certificate_records_how_the_scores_lie(data, certificate):
    recorded = certificate.calibration["scores"]
    best = np.array([scores[0] for scores in _lists(data) if scores.size])
    assert recorded["lowest"] == data.retriever.min()
    assert recorded["highest"] == data.retriever.max()
    inside = (best >= recorded["usual_best_from"]) & (best <= recorded["usual_best_to"])
    assert inside.mean() == pytest.approx(0.9, abs=0.01)


def test_a_zero_has_no_sign():
    """Which of two equal scores a quantile or an end is depends on the order of the queries."""
    best = np.array([0.0, -0.0, 0.0, -0.0], dtype=np.float32)
    for order in ([0, 1, 2, 3], [1, 0, 3, 2]):
        recorded = Scale.of(best[order], float(best[order][0]), float(best[order][1])).to_json()
        assert [str(bound) for bound in recorded.values()] == ["0.0"] * 4


def test_no_list_of_the_same_retriever_is_refused(data):
    """One half calibrates, the lists of the other are its retriever's: alone, and as one batch."""
    first, second = data.split((0.5, 0.5), seed=1)
    half = sc.calibrate(first, target=sc.max_drop(0.1))
    alone = [half.keep(scores, any_length=True) for scores in _lists(second)]
    together = half.keep(second.retriever, offsets=second.offsets, any_length=True)
    assert together.tolist() == alone
    assert second.retriever.max() > first.retriever.max()  # some of them are beyond what calibration has seen


@pytest.mark.parametrize("change", [lambda s: s * 10, lambda s: -s[::-1], lambda s: s + 500])
def test_a_list_far_outside_the_scores_of_calibration_is_refused(data, certificate, change):
    widest = max(_lists(data), key=lambda scores: scores[0] - scores[-1])
    with pytest.raises(sc.InputError, match=r"another scale.*any_system=True"):
        certificate.keep(change(widest))
    with pytest.raises(sc.InputError, match="another scale"):
        certificate.survivors(change(widest))
    assert certificate.keep(change(widest), any_system=True) >= 1


def test_a_batch_on_a_scale_inside_the_range_is_refused_as_a_whole(data, certificate):
    """Cosines lie between 0 and 1, where BM25 could have a score; but not the best score of every query."""
    small = data.retriever / np.float32(60)
    with pytest.raises(sc.InputError, match=r"the best scores of 1,109 lists .* not one between"):
        certificate.keep(small, offsets=data.offsets)
    few = data.offsets[ENOUGH_LISTS - 1]
    certificate.keep(small[:few], offsets=data.offsets[:ENOUGH_LISTS], any_length=True)
    certificate.keep(small, offsets=data.offsets, any_system=True)


def test_a_certificate_without_the_record_is_still_applied(certificate):
    record = json.loads(certificate.to_json())
    del record["calibration"]["scores"], record["digest"]
    older = sc.Certificate(**record)
    assert parse_certificate(older.to_json()).keep(-np.arange(100.0) * 1000) >= 1


def test_scores_that_are_all_the_same_have_a_scale_too():
    flat = sc.Candidates.from_arrays(np.full((30, 5), 7.0), np.random.default_rng(0).random((30, 5)))
    scale = scale_of(flat)
    assert scale is not None
    scale.refuse_list(8.0, 1.0)
    with pytest.raises(sc.InputError, match="another scale"):
        scale.refuse_list(700.0, 7.0)


def test_few_queries_in_calibration_do_not_refuse_the_others():
    """Fifty queries have not seen the highest scores; one odd list in a batch is not the batch."""
    data = sc.read_table("example:quora-duplicates-bm25-minilm")
    filled = data.lengths > 0
    best = data.retriever[data.offsets[:-1][filled]].astype(np.float64)
    worst = data.retriever[data.offsets[1:][filled] - 1].astype(np.float64)
    draw = np.random.default_rng(0)
    highest = []
    for _ in range(200):
        scale = scale_of(data.take(draw.choice(len(data), 50, replace=False)))
        scale.refuse_batch(best, worst)
        highest.append(scale.highest)
    assert min(highest) < best.max() / 2  # there was much they had not seen


def test_one_odd_list_in_a_hundred_does_not_make_the_batch_odd(data, certificate):
    scores = data.retriever.copy()
    odd = slice(data.offsets[3], data.offsets[4])
    scores[odd] *= 100
    certificate.keep(scores, offsets=data.offsets)
    with pytest.raises(sc.InputError, match="another scale"):
        certificate.keep(scores[odd])
    certificate.keep(scores[: data.offsets[200]], offsets=data.offsets[:201], any_length=True)
    with pytest.raises(sc.InputError, match="another scale"):
        certificate.keep(scores[: data.offsets[50]], offsets=data.offsets[:51], any_length=True)


def test_a_retriever_that_is_known_needs_no_scale(data, certificate):
    odd = replace(data, retriever=data.retriever * 1000)
    assert certificate.system["retriever"] == data.system["retriever"]
    certificate.check(odd)
    with pytest.raises(sc.InputError, match="another scale"):
        certificate.check(replace(odd, system={}))
