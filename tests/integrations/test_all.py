"""What holds for every integration: the same survivors as the certificate's, and the same refusals."""

import pickle
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import surecut as sc
import surecut.rules
from surecut import InputError
from surecut.integrations import beir, sentence_transformers
from tests.integrations.adapters import ALL, PRUNING, RERANKING


class Empty:
    def predict(self, pairs):
        return [0.0] * len(pairs)


@pytest.fixture(params=ALL, ids=str)
def library(request):
    return ALL[request.param]


@pytest.mark.parametrize("name", PRUNING)
def test_the_survivors_are_the_certificates(name, asked, pairs, certificates):
    sizes = set()
    for each in asked[::5]:
        found = PRUNING[name](certificates.plain, pairs, each)
        assert set(found) == {each.ids[place] for place in certificates.plain.survivors(each.scores, each.ids)}
        sizes.add(len(found))
    assert len(sizes) > 2


@pytest.mark.parametrize("name", RERANKING)
@pytest.mark.parametrize("kind", ["plain", "append", "fused", "both"])
def test_the_final_list_is_the_certificates(name, kind, asked, pairs, certificates, expected):
    certificate = getattr(certificates, kind)
    for each in asked[::5]:
        assert RERANKING[name](certificate, pairs, each) == [doc for doc, _ in expected(certificate, each)]


@pytest.mark.parametrize("name", PRUNING)
@pytest.mark.parametrize(("kind", "cure"), [("append", "--tail drop"), ("fused", "--fusion 0")])
def test_a_stage_refuses_a_certificate_whose_final_list_it_does_not_make(name, kind, cure, asked, pairs, certificates):
    with pytest.raises(InputError, match=cure):
        PRUNING[name](getattr(certificates, kind), pairs, asked[0])


def test_a_path_will_do(library, asked, pairs, certificates, tmp_path):
    certificates.plain.save(tmp_path / "cert.json")
    given = library(str(tmp_path / "cert.json"), pairs, asked[0])
    assert given == library(tmp_path / "cert.json", pairs, asked[0]) == library(certificates.plain, pairs, asked[0])
    with pytest.raises(InputError, match="No such file"):
        library(str(tmp_path / "none.json"), pairs, asked[0])


@pytest.mark.parametrize("lacking", [None, float("nan"), float("inf"), "high"])
def test_a_missing_score_is_an_error_that_names_the_document(library, lacking, asked, pairs, certificates, request):
    numbers_only = (ALL["ranx"], ALL["haystack"], *((ALL["llama-index"],) if lacking == "high" else ()))
    if library in numbers_only and not isinstance(lacking, float):
        pytest.skip("the library itself takes numbers only")
    each = replace(asked[0], scores=[*asked[0].scores[:3], lacking, *asked[0].scores[4:]])
    with pytest.raises(InputError, match=rf"document \d+ \('{each.ids[3]}'\) has no first-stage score"):
        library(certificates.plain, pairs, each)


def test_a_list_longer_than_calibrated_on_is_refused(library, asked, pairs, certificates):
    each = asked[0]
    more = 200
    longer = replace(
        each,
        ids=[*each.ids, *(f"more{place}" for place in range(more))],
        texts=[*each.texts, *["more"] * more],
        scores=[*each.scores, *np.linspace(min(each.scores), 0.01, more).tolist()],
    )
    with pytest.raises(InputError, match="lists of at most"):
        library(certificates.plain, pairs, longer)
    assert library(certificates.plain, pairs, longer, any_length=True)


def test_a_list_shorter_than_calibrated_on_is_refused(library, asked, pairs, certificates):
    each = asked[0]
    shorter = replace(each, ids=each.ids[:3], texts=each.texts[:3], scores=each.scores[:3])
    with pytest.raises(InputError, match="looks at the whole list"):
        library(certificates.plain, pairs, shorter)
    assert library(certificates.plain, pairs, shorter, any_length=True)


@pytest.mark.parametrize("kind", ["by_score", "by_rank", "by_gap"])
def test_a_list_that_ends_before_the_cut_is_refused(library, kind, asked, pairs, certificates):
    """The retriever was asked for too few; one that was cut has all its survivors, however short it is."""
    certificate, each = getattr(certificates, kind), asked[0]
    kept = certificate.keep(each.scores)

    def first(number):
        return replace(each, ids=each.ids[:number], texts=each.texts[:number], scores=each.scores[:number])

    assert 1 < kept < certificate.calibration["shortest_list"] - 1
    with pytest.raises(InputError, match=rf"all of which survive.*let the retriever return {certificate.depth}"):
        library(certificate, pairs, first(kept - 1))
    assert len(library(certificate, pairs, first(kept - 1), any_length=True)) == kept - 1
    assert set(library(certificate, pairs, first(kept + 1))) == set(library(certificate, pairs, each))


def test_a_short_list_that_fills_the_window_is_whole(library, asked, pairs, certificates):
    certificate = certificates.by_rank
    each, window = asked[0], certificate.most_kept
    whole = replace(each, ids=each.ids[:window], texts=each.texts[:window], scores=each.scores[:window])
    assert len(library(certificate, pairs, whole)) == window


@pytest.mark.parametrize("change", [lambda score: 1000 * score, lambda score: score - 500])
def test_another_scale_is_refused(library, change, asked, pairs, certificates):
    each = replace(asked[0], scores=[change(score) for score in asked[0].scores])
    for known in ({}, {"retriever": certificates.plain.system["retriever"]}):  # a name is no proof
        with pytest.raises(InputError, match="another scale"):
            library(certificates.plain, pairs, each, system=known)
    assert library(certificates.plain, pairs, each, any_system=True)


def test_another_retriever_is_refused_by_its_fingerprint(library, asked, pairs, certificates):
    known = certificates.plain.system["retriever"]
    assert library(certificates.plain, pairs, asked[0], system={"retriever": known})
    with pytest.raises(InputError, match=rf"fingerprint other, certified {known}"):
        library(certificates.plain, pairs, asked[0], system={"retriever": "other"})
    assert library(certificates.plain, pairs, asked[0], system={"retriever": "other"}, any_system=True)


def test_a_document_twice_is_refused(asked, pairs, certificates):
    each = replace(asked[0], ids=[*asked[0].ids[:-1], asked[0].ids[0]])
    for name in ALL.keys() - {"beir", "ranx"}:  # dicts cannot hold one twice
        with pytest.raises(InputError, match=f"'{each.ids[0]}' is twice"):
            ALL[name](certificates.plain, pairs, each)


def test_an_empty_list_stays_empty(asked, pairs, certificates):
    nothing = replace(asked[0], ids=[], texts=[], scores=[])
    for name in ALL.keys() - {"ranx"}:  # a ranx run has no empty queries
        assert ALL[name](certificates.plain, pairs, nothing) == [], name


def test_lists_in_another_order_have_the_same_survivors(library, asked, pairs, certificates):
    each = asked[1]
    shuffled = np.random.default_rng(0).permutation(len(each.ids))
    other = replace(
        each,
        **{name: [getattr(each, name)[place] for place in shuffled] for name in ("ids", "texts", "scores")},
    )
    assert set(library(certificates.plain, pairs, other)) == set(library(certificates.plain, pairs, each))


@pytest.mark.parametrize("name", ["langchain", "llama_index", "haystack", "pyterrier", "beir", "sentence_transformers"])
@pytest.mark.parametrize("rule", sc.rules.RULES.names())
def test_it_goes_to_another_process(name, rule, asked, certificates):
    """Workers get their pipelines pickled, at any time: here after the first list."""
    module = import_module(f"surecut.integrations.{name}")
    certificate = replace(certificates.plain, rule=sc.rules.RULES[rule].to_json())
    made = module.Prune(certificate, *([Empty()] if name == "sentence_transformers" else []))
    pruned = made.stage.prune(asked[0].scores, asked[0].ids)
    again = pickle.loads(pickle.dumps(made))
    assert again.stage.certificate == certificate
    assert again.stage.prune(asked[0].scores, asked[0].ids).survivors == pruned.survivors


def test_scores_that_are_always_normalised_show_by_the_eighth_list(asked, certificates):
    """The best score is 1 for every query, and the certificate's retriever has none that low."""
    prune = beir.Prune(certificates.plain)
    lists = [dict(zip(each.ids, np.array(each.scores) / each.scores[0], strict=True)) for each in asked]
    different = list({next(iter(listed)): listed for listed in lists}.values())
    for listed in different[:7]:
        prune.prune({"q": listed})
        prune.prune({"again": listed})
    with pytest.raises(InputError, match="the best scores of 8 lists"):
        prune.prune({"q": different[7]})


@pytest.mark.parametrize("named", [True, False])
def test_one_unusual_list_again_and_again_is_no_other_scale(named, asked, certificates):
    """As a health check asks it, with ids or without."""
    prune = sentence_transformers.Prune(certificates.plain, Empty())
    each = asked[0]
    normalised = (np.array(each.scores) / each.scores[0]).tolist()
    assert not certificates.plain.pruner.scale.usual(np.array(normalised[:1])).any()
    for _ in range(10):
        assert prune.rank(each.query, each.texts, scores=normalised, ids=each.ids if named else None)


def test_a_name_spares_the_first_eight_lists(asked, certificates):
    prune = beir.Prune(certificates.plain, system={"retriever": certificates.plain.system["retriever"]})
    for each in asked:
        prune.prune({"q": dict(zip(each.ids, np.array(each.scores) / each.scores[0], strict=True))})
    assert len(asked) > 8


@pytest.mark.parametrize("name", PRUNING)
def test_a_certificate_that_prunes_nothing_has_nothing_to_append(name, asked, pairs, certificates):
    everything = replace(certificates.append, threshold=-np.inf)
    assert not everything.prunes
    assert sorted(PRUNING[name](everything, pairs, asked[0])) == sorted(asked[0].ids)


def test_rising_scores_are_refused(asked, pairs, certificates):
    each = asked[0]
    turned = replace(each, **{name: getattr(each, name)[::-1] for name in ("ids", "texts", "scores")})
    for name in ALL.keys() - {"beir", "ranx"}:
        with pytest.raises(InputError, match="as distances do"):
            ALL[name](certificates.plain, pairs, turned)


def test_fingerprints_come_by_stage(library, asked, pairs, certificates):
    with pytest.raises((InputError, ValueError), match=r"a mapping of retriever|valid dictionary"):
        library(certificates.plain, pairs, asked[0], system="abc")


@pytest.mark.parametrize("name", ["sentence-transformers", "rerankers"])
def test_an_id_that_is_nan_is_none(name, asked, pairs, certificates):
    each = replace(asked[0], ids=[*asked[0].ids[:5], float("nan"), *asked[0].ids[6:]])
    with pytest.raises(InputError, match="document 5 has no id"):
        ALL[name](certificates.plain, pairs, each)


def test_a_stage_that_is_not_known_is_refused(library, asked, pairs, certificates):
    with pytest.raises(InputError, match="system= names 'retreiver'"):
        library(certificates.plain, pairs, asked[0], system={"retreiver": "x"})


@pytest.mark.parametrize("name", ["langchain", "llama-index", "haystack"])
def test_an_id_that_is_not_where_it_is_said_to_be(name, asked, pairs, certificates):
    with pytest.raises(InputError, match="no 'source' in its metadata"):
        ALL[name](certificates.plain, pairs, asked[0], id_key="source")


def test_an_uncertified_certificate_is_applied_with_a_warning(library, asked, pairs, certificates):
    doubtful = replace(certificates.plain, status="uncertified")
    with pytest.warns(UserWarning, match="an uncertified certificate is applied"):
        library(doubtful, pairs, asked[0])


@pytest.mark.parametrize("given", [None, 3, b"cert.json"])
def test_what_is_no_certificate_is_refused(library, given, asked, pairs):
    with pytest.raises(InputError, match="a certificate or the path of one"):
        library(given, pairs, asked[0])


@pytest.mark.parametrize("name", ["langchain", "rerankers"])
def test_ids_of_some_documents_only_are_refused(name, asked, pairs, certificates):
    each = replace(asked[0], ids=[*asked[0].ids[:5], None, *asked[0].ids[6:]])
    with pytest.raises(InputError, match="document 5 has no id"):
        ALL[name](certificates.plain, pairs, each)
    unnamed = replace(asked[0], ids=[None] * len(asked[0].ids))
    assert len(ALL[name](certificates.plain, pairs, unnamed)) == certificates.plain.keep(asked[0].scores)
