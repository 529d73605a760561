"""A certificate made again from its data: what is not exactly what they give is found."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surecut as sc
from surecut.candidates import Candidates
from surecut.certificate import parse_certificate
from surecut.folding import in_tuning_fold
from surecut.rules import as_rule
from surecut.verifying import Difference
from tests.tampering import changed, changes, dotted, fields, redigested, said
from tests.test_rederiving import CASES, DATA, DROP, longer_lists, misses_the_first_three

CUTS = {
    "top 10": {"keep": 10},
    "budget": {"budget": 12},
    "budget on raw scores": {"budget": 12.3, "rule": "score", "min_keep": 0},
    "assessed with clt": {"keep": 10, "test": "clt"},
    "assessed agreement": {"keep": 10, "claim": "agreement"},
}
HOPELESS = Candidates.from_arrays(
    np.tile([2.0, 1.0], (40, 1)), np.tile([1.0, 2.0], (40, 1)), np.tile([0, 1], (40, 1))
)  # the relevant document is always the last
RENAMED = replace(
    sc.simulate(queries=200, depth=40, seed=2), query_ids=np.array([f"t{place}" for place in range(200)], dtype=object)
)


def made(name, **options):
    """One of the cases, with some options otherwise."""
    if name in CUTS:
        return sc.assess(DATA, **{**CUTS[name], **options})
    data, usual = CASES[name]
    return sc.calibrate(data, **{**usual, **options})


def data_of(name):
    return CASES[name][0] if name in CASES else DATA


@cache
def certificate(name):
    return made(name)


@pytest.mark.parametrize("name", [*CASES, *CUTS])
def test_a_certificate_made_again_is_the_same(name):
    loaded = parse_certificate(certificate(name).to_json())
    found = sc.verify(loaded, data_of(name))
    assert found.same
    assert found.identical
    assert found.differences == found.rounded == ()
    assert found.again.to_json() == loaded.to_json()
    assert found.reason == "made again from its data it is the same certificate"


@pytest.mark.parametrize("path", [path for path, _ in fields(said(certificate("drop")))], ids=dotted)
def test_no_field_can_be_changed_unnoticed(path):
    refuse_every_change("drop", path)


@pytest.mark.parametrize("name", [name for name in (*CASES, *CUTS) if name != "drop"])
def test_no_field_of_any_kind_of_certificate_can_be_changed_unnoticed(name):
    for path, _ in fields(said(certificate(name))):
        refuse_every_change(name, path)


def refuse_every_change(name, path):
    """A changed field is a difference, or makes others differ; or it is a choice, and the outcome what it leads to."""
    record, field = said(certificate(name)), dotted(path)
    for value in changes(field, dict(fields(record))[path]):
        try:
            other = parse_certificate(redigested(changed(record, path, value)))
            found = sc.verify(other, data_of(name))
        except sc.InputError:
            continue
        if field == "surecut":
            assert found.same
            assert f"surecut {value} made it" in found.reason
        elif found.same:
            assert found.again == made(name, **choice(field, value, other)), f"{field}: {value}"
        else:
            assert found.differences or found.again is None


def choice(field, value, certificate):
    """The option of `calibrate` and `assess` that a field records."""
    if field.startswith("rule.parameters."):
        return {"rule": as_rule(certificate.rule["name"]).with_parameters(certificate.rule["parameters"])}
    named = {"fusion.beta": "fusion", "grid.kind": "grid"}.get(field, field)
    assert named in ("confidence", "tail", "min_keep", "max_keep", "test", "fusion", "grid"), f"{field}: {value}"
    return {named: value}


def test_a_part_that_is_missing_or_added_is_a_difference():
    record = said(certificate("drop"))
    for path, empty in ((("calibration", "scores"), None), (("assumptions",), [])):
        emptied = parse_certificate(redigested(changed(record, path, empty)))
        assert [each.field for each in sc.verify(emptied, DATA).differences] == [dotted(path)]
    del record["calibration"]["scores"]
    added = parse_certificate(redigested({**record, "system": {"reranker": "(not there)"}}))
    differences = {each.field: each for each in sc.verify(added, DATA).differences}
    assert set(differences) == {"calibration.scores", "system.reranker"}
    assert differences["calibration.scores"].certified == "(not there)"


def test_both_values_of_a_changed_figure_are_told():
    kept = certificate("drop").mean_kept
    record = changed(said(certificate("drop")), ("calibration", "mean_kept"), kept / 2)
    found = sc.verify(parse_certificate(redigested(record)), DATA)
    assert not found.same
    assert found.differences == (Difference("calibration.mean_kept", kept / 2, kept),)
    assert found.reason == "made again from its data it does not say the same: calibration.mean_kept"
    assert json.loads(json.dumps(found.to_dict()))["differences"] == [
        {"field": "calibration.mean_kept", "certified": kept / 2, "found": kept}
    ]


def test_another_threshold_is_told_with_both_ends():
    other = replace(certificate("drop"), threshold=-1.0)
    found = sc.verify(other, DATA)
    assert found.reason == (
        f"made again from its data it is certified at threshold {certificate('drop').threshold:.6g}, and it says "
        "certified at -1"
    )


def test_other_data_are_told_from_bad_input():
    found = sc.verify(certificate("drop"), DATA.take(np.arange(300)))
    assert not found.same
    assert "these 300 queries are not the 600 the certificate was calibrated on" in found.reason
    assert "calibration.fingerprint" in {each.field for each in found.differences}
    with pytest.raises(sc.InputError, match="too few"):
        sc.verify(certificate("drop"), DATA.take(np.arange(10)))
    unjudged = replace(DATA, judged=np.zeros(len(DATA), dtype=np.bool_))
    with pytest.raises(sc.InputError, match="no query is judged: give the judgements that the certificate"):
        sc.verify(certificate("drop"), unjudged)


def test_what_cannot_be_asked_for_is_told():
    for impossible in (
        replace(certificate("drop"), test="binomial"),
        replace(certificate("drop"), rule={"name": "softmax", "parameters": {"scale": -1.0}}),
        replace(certificate("top 10"), threshold=-40.0),
        replace(certificate("top 10"), fusion={"beta": 0.0, "fitted": True}),
    ):
        found = sc.verify(impossible, DATA)
        assert not found.same
        assert found.again is None
        assert found.reason.startswith("what the certificate says cannot be a")
        assert found.to_dict()["digest_again"] is None


@given(st.floats(-1e-10, 1e-10).filter(lambda share: abs(share) > 1e-13))
@settings(max_examples=30, deadline=None)
def test_rounding_is_forgiven_in_figures_and_told(share):
    facts = dict(certificate("drop").calibration)
    facts["mean_full"] *= 1 + share
    found = sc.verify(replace(certificate("drop"), calibration=facts), DATA)
    assert found.same
    assert not found.identical
    assert [each.field for each in found.rounded] == ["calibration.mean_full"]
    assert "up to the rounding of last digits (calibration.mean_full)" in found.reason


def test_no_rounding_is_forgiven_that_moves_a_candidate():
    """A threshold of a grid may be a key: -33 keeps the 33rd candidate, and the least above it does not."""
    ranked = sc.calibrate(DATA, **DROP, rule="rank", grid="fixed")
    above = replace(ranked, threshold=float(np.nextafter(ranked.threshold, 0.0)))
    found = sc.verify(above, DATA)
    assert not found.same
    assert [each.field for each in found.differences] == ["threshold"]
    assert "keeps other candidates, by the last digits of threshold" in found.reason
    below = replace(ranked, threshold=float(np.nextafter(ranked.threshold, -100.0)))
    assert sc.verify(below, DATA).same
    assert not sc.verify(below, DATA).identical


def test_another_version_is_told_and_is_no_difference():
    found = sc.verify(replace(certificate("drop"), surecut="0.0.1"), DATA)
    assert found.same
    assert found.identical
    assert (found.made_by, found.verified_by) == ("0.0.1", sc.__version__)
    assert found.reason.endswith(f"; surecut 0.0.1 made it, this is {sc.__version__}")


def test_the_system_is_compared_unless_it_is_left_out():
    named = replace(DATA, system={"reranker": "a"})
    certified = sc.calibrate(named, **DROP)
    assert sc.verify(certified, named).same
    for other in (DATA, replace(DATA, system={"reranker": "b"})):
        found = sc.verify(certified, other)
        assert [each.field for each in found.differences] == ["system.reranker"]
        assert "--any-system" in found.reason
        left_out = sc.verify(certified, other, any_system=True)
        assert left_out.same
        assert "was not compared" in left_out.reason


def test_a_depth_that_no_list_reaches_is_asked_for():
    deep = sc.calibrate(DATA, **DROP, depth=1000)
    found = sc.verify(deep, DATA)
    assert found.differences == (Difference("depth", 1000, 40),)
    assert "--depth" in found.reason
    assert sc.verify(deep, DATA, depth=1000).same
    assert sc.verify(deep, DATA.cut(1000)).same


def test_a_depth_that_cuts_need_not_be_given_again():
    tuning = in_tuning_fold(DATA, 0.2)
    data = longer_lists(DATA, tuning)
    for depth in (None, 20):
        assert sc.verify(sc.calibrate(data, rule="softmax-fitted", depth=depth, **DROP), data).identical


def test_tuning_data_and_shares_are_given_again():
    tuned = sc.calibrate(DATA, **DROP, fusion="fit", tune=RENAMED)
    assert sc.verify(tuned, DATA, tune=RENAMED).identical
    with pytest.raises(sc.InputError, match="--tune-table"):
        sc.verify(tuned, DATA)
    otherwise = sc.verify(tuned, DATA, tune=replace(RENAMED, reranker=RENAMED.retriever.astype(float) ** 2))
    assert "fusion.beta" in {each.field for each in otherwise.differences}
    shared = sc.calibrate(DATA, **DROP, fusion="fit", tune_fraction=0.3)
    assert sc.verify(shared, DATA, tune_fraction=0.3).identical
    assert "--tune-fraction" in sc.verify(shared, DATA).reason
    with pytest.raises(sc.InputError, match="the tuning share must be a number between 0 and 1"):
        sc.verify(shared, DATA, tune_fraction=3)


def test_a_budget_placed_elsewhere_is_placed_again():
    for options in ({"tune": RENAMED}, {"aside": 0.4}):
        placed = sc.assess(DATA, budget=12, **options)
        given_again = {"tune_fraction" if name == "aside" else name: value for name, value in options.items()}
        assert sc.verify(placed, DATA, **given_again).identical
        assert sc.verify(placed, DATA, **given_again, budget=12).identical
        assert not sc.verify(placed, DATA, **given_again, budget=13).same


def test_what_one_that_abstained_does_not_record_is_asked_for():
    capped = sc.calibrate(DATA, **DROP, max_keep=3)
    assert capped.status == "abstained"
    with pytest.raises(sc.InputError, match="--max-keep"):
        sc.verify(capped, DATA)
    assert sc.verify(capped, DATA, max_keep=3).identical
    assert not sc.verify(capped, DATA, max_keep=39).same
    cut = sc.assess(HOPELESS, keep=1, claim="at-least")
    assert cut.status == "abstained"
    with pytest.raises(sc.InputError, match="--keep"):
        sc.verify(cut, HOPELESS)
    assert sc.verify(cut, HOPELESS, keep=1).identical


def test_a_cut_is_one_and_belongs_to_assess():
    with pytest.raises(sc.InputError, match="one of them and not both"):
        sc.verify(certificate("top 10"), DATA, keep=10, budget=10)
    with pytest.raises(sc.InputError, match="at least 1"):
        sc.verify(certificate("top 10"), DATA, keep=0)
    with pytest.raises(sc.InputError, match="not made by assess"):
        sc.verify(certificate("drop"), DATA, keep=10)


@pytest.mark.parametrize("binary", [False, True])
def test_functions_of_ones_own_are_given_again(binary):
    bounded = sc.calibrate(DATA, target=sc.risk(misses_the_first_three, 0.6, binary=binary))
    assert sc.verify(bounded, DATA, loss=misses_the_first_three).identical
    with pytest.raises(sc.InputError, match="loss="):
        sc.verify(bounded, DATA)
    measured = sc.calibrate(DATA, measure=misses_the_first_three, target=sc.max_drop(0.2))
    assert sc.verify(measured, DATA, measure=misses_the_first_three).identical
    with pytest.raises(sc.InputError, match="measure="):
        sc.verify(measured, DATA)
