"""From a certificate and its data back to the calibration it came from."""

from dataclasses import replace

import numpy as np
import pytest

import surecut as sc
from surecut.folding import in_tuning_fold
from surecut.rederiving import rederive


def misses_the_first_three(grades, missed):
    return 0.0 if np.any(grades[:3] > 0) else 1.0


DATA = sc.simulate(queries=600, depth=40, seed=1)
GROUPED = DATA.with_groups({query: f"g{place // 3}" for place, query in enumerate(DATA.query_ids)})
DROP = {"target": sc.max_drop(0.05)}

CASES = {
    "drop": (DATA, DROP),
    "absolute drop, append": (DATA, {"target": sc.max_drop(0.1, absolute=True), "tail": "append"}),
    "several starts": (DATA, {"target": sc.at_least(0.38)}),
    "binomial": (DATA, {"target": sc.at_least(0.5), "measure": "Success@10"}),
    "agreement": (DATA, {"target": sc.agreement(0.8, k=5)}),
    "fitted temperature": (DATA, {**DROP, "rule": "softmax-fitted"}),
    "given temperature": (DATA, {**DROP, "rule": "softmax-fitted(temperature=0.7)"}),
    "fitted fusion": (DATA, {**DROP, "fusion": "fit"}),
    "given fusion": (DATA, {**DROP, "fusion": 0.3}),
    "fitted on the calibration queries": (DATA, {**DROP, "fusion": "fit", "fit_on_calibration": True}),
    "starts placed aside": (DATA, {"target": sc.at_least(0.35), "rule": "score"}),
    "grid placed aside": (DATA, {"target": sc.max_drop(0.1), "rule": "gap", "grid": "fixed"}),
    "own parameters": (DATA, {**DROP, "rule": "softmax(scale=1, rank_prior=0)"}),
    "depth": (DATA, {**DROP, "depth": 20}),
    "cap": (DATA, {"target": sc.max_drop(0.2), "max_keep": 20, "min_keep": 0}),
    "groups": (GROUPED, {"target": sc.max_drop(0.1)}),
    "published": (DATA, {**DROP, "procedure": "paper"}),
    "EST": (DATA, {**DROP, "procedure": "est"}),
    "ERT": (DATA, {**DROP, "procedure": "ert"}),
    "clt": (DATA, {**DROP, "test": "clt"}),
    "abstained": (DATA, {"target": sc.max_drop(0.0001)}),
    "relaxed target": (DATA, {"target": sc.at_least(0.6), "if_unreachable": "relax-target"}),
    "relaxed confidence": (DATA, {"target": sc.at_least(0.46), "if_unreachable": "relax-confidence"}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_certificate_leads_back_to_its_calibration(name):
    data, options = CASES[name]
    certificate = sc.calibrate(data, **options)
    again = rederive(certificate, data)
    assert (again.decision.status, again.decision.threshold) == (certificate.status, certificate.threshold)
    assert again.fitted.rule.to_json() == certificate.rule
    assert again.fitted.beta == certificate.fusion["beta"]
    assert again.prepared.data.fingerprint() == certificate.calibration["fingerprint"]
    assert again.prepared.curves.full.mean() == certificate.calibration["mean_full"]


def longer_lists(data, queries):
    """The same data, with some queries' lists doubled in length."""
    lengths = data.lengths
    keep = np.minimum(lengths, 20)
    keep[queries] = lengths[queries]
    rank = np.arange(data.retriever.size) - np.repeat(data.offsets[:-1], lengths)
    stays = rank < np.repeat(keep, lengths)
    return sc.Candidates.from_arrays(
        data.retriever[stays],
        data.reranker[stays],
        np.maximum(data.grades[stays], 0),
        offsets=np.concatenate(([0], np.cumsum(keep))),
        query_ids=data.query_ids,
    )


def test_the_longest_list_may_lie_in_the_tuning_fold():
    tuning = in_tuning_fold(DATA, 0.2)
    data = longer_lists(DATA, tuning)
    certificate = sc.calibrate(data, rule="softmax-fitted", **DROP)
    assert certificate.depth == 20
    assert rederive(certificate, data).decision.threshold == certificate.threshold
    cut = sc.calibrate(data, rule="softmax-fitted", depth=20, **DROP)
    assert rederive(cut, data).decision.threshold == cut.threshold
    assert cut.threshold != certificate.threshold


def test_a_tuning_table_may_have_longer_lists():
    tune, data = DATA.split((0.3, 0.7))
    certificate = sc.calibrate(data.cut(20), tune=tune, rule="softmax-fitted", **DROP)
    again = rederive(certificate, data.cut(20), tune=tune)
    assert again.decision.threshold == certificate.threshold


def test_the_cases_reach_every_status():
    assert {sc.calibrate(data, **options).status for data, options in CASES.values()} == {
        "certified",
        "relaxed-target",
        "relaxed-confidence",
        "uncertified",
        "abstained",
    }


@pytest.mark.parametrize("options", [{"keep": 10}, {"budget": 12}, {"budget": 12, "rule": "score"}])
def test_an_assessed_cut_leads_back_to_its_queries(options):
    certificate = sc.assess(DATA, **options)
    again = rederive(certificate, DATA)
    assert not again.searched
    assert again.prepared.kept(certificate.threshold, again.choices).mean() == certificate.mean_kept


@pytest.mark.parametrize("binary", [False, True])
def test_a_loss_of_ones_own_is_given_again(binary):
    certificate = sc.calibrate(DATA, target=sc.risk(misses_the_first_three, 0.6, binary=binary))
    again = rederive(certificate, DATA, loss=misses_the_first_three)
    assert again.choices.test.name == certificate.test
    with pytest.raises(sc.InputError, match="loss="):
        rederive(certificate, DATA)


def test_a_tuning_table_is_given_again():
    tune = sc.simulate(queries=200, depth=40, seed=2)
    tune = replace(tune, query_ids=np.array([f"t{query}" for query in tune.query_ids], dtype=object))
    certificate = sc.calibrate(DATA, **DROP, fusion="fit", tune=tune)
    assert rederive(certificate, DATA, tune=tune).decision.threshold == certificate.threshold
    with pytest.raises(sc.InputError, match="--tune-table"):
        rederive(certificate, DATA)
    with pytest.raises(sc.InputError, match="fitted again the fusion weight is"):
        rederive(certificate, DATA, tune=replace(tune, reranker=tune.retriever.astype(float) ** 2))


def test_other_data_are_refused():
    certificate = sc.calibrate(DATA, **DROP)
    with pytest.raises(sc.InputError, match="these 300 queries are not the 600 the certificate was calibrated on"):
        rederive(certificate, DATA.take(np.arange(300)))


def test_another_tuning_share_is_refused():
    certificate = sc.calibrate(DATA, **DROP, fusion="fit", tune_fraction=0.3)
    with pytest.raises(sc.InputError, match="--tune-fraction"):
        rederive(certificate, DATA)
    assert rederive(certificate, DATA, tune_fraction=0.3).decision.status == certificate.status


def test_another_system_is_refused():
    certificate = sc.calibrate(replace(DATA, system={"reranker": "a"}), **DROP)
    with pytest.raises(sc.InputError, match="the reranker of this data is not the certificate's"):
        rederive(certificate, replace(DATA, system={"reranker": "b"}))
    assert rederive(certificate, replace(DATA, system={"reranker": "b"}), any_system=True).searched


def test_the_cap_of_one_that_abstained_is_asked_for():
    certificate = sc.calibrate(DATA, target=sc.max_drop(0.05), max_keep=3)
    assert certificate.status == "abstained"
    with pytest.raises(sc.InputError, match="--max-keep"):
        rederive(certificate, DATA)
    assert rederive(certificate, DATA, max_keep=3).choices.max_keep == 3


def test_a_certificate_that_its_data_do_not_lead_to_is_refused():
    certificate = sc.calibrate(DATA, **DROP)
    with pytest.raises(sc.InputError, match="calibrating on its data again ends certified at threshold"):
        rederive(replace(certificate, threshold=certificate.threshold + 1), DATA)
