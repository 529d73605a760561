"""ranx runs and BEIR results, in and out."""

from dataclasses import replace

import pytest
import ranx
from ranx import Qrels, Run

from surecut import InputError
from surecut.integrations import beir
from surecut.integrations.ranx import Prune


def run_of(asked):
    return {each.query_id: dict(zip(each.ids, each.scores, strict=True)) for each in asked}


def test_dicts_keep_their_order_scores_and_queries(asked, certificates):
    run = {**run_of(asked), "nothing found": {}}
    backwards = {query: dict(reversed(listed.items())) for query, listed in run.items()}
    for prune in (beir.Prune(certificates.plain), Prune(certificates.plain)):
        pruned, turned = prune.prune(run), prune.prune(backwards)
        assert list(pruned) == list(run)
        assert pruned["nothing found"] == {}
        for each in asked:
            kept = {each.ids[place] for place in certificates.plain.survivors(each.scores, each.ids)}
            assert list(pruned[each.query_id]) == [name for name in each.ids if name in kept]
            assert all(pruned[each.query_id][name] == run[each.query_id][name] for name in kept)
            assert list(turned[each.query_id]) == list(reversed(pruned[each.query_id]))


def test_a_ranx_run_stays_one(asked, certificates):
    run = Run(run_of(asked), name="bm25")
    pruned = Prune(certificates.plain).prune(run)
    assert isinstance(pruned, Run)
    assert pruned.name == "bm25"
    assert {query: set(listed) for query, listed in pruned.to_dict().items()} == {
        query: set(listed) for query, listed in beir.Prune(certificates.plain).prune(run_of(asked)).items()
    }
    qrels = Qrels({each.query_id: {each.ids[0]: 1} for each in asked})
    assert ranx.evaluate(qrels, pruned, "mrr@10") == 1.0


def test_a_run_of_which_nothing_survives(asked, certificates):
    unreached = replace(certificates.by_score, threshold=float("inf"), min_keep=0)
    run = run_of(asked[:3])
    assert beir.Prune(unreached).prune(run) == {query: {} for query in run}
    assert Prune(unreached).prune(Run(run, name="bm25")).to_dict() == {}


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ([("q", {"d": 1.0})], "not a list"),
        ({"q": [("d", 1.0)]}, "query 'q': its documents are a dict"),
        ({"q": None}, "query 'q': its documents are a dict"),
        ({"q": {"d": None}}, "query 'q': document 0"),
    ],
)
def test_what_is_no_run_is_refused(run, said, certificates):
    for prune in (beir.Prune(certificates.plain), Prune(certificates.plain)):
        with pytest.raises(InputError, match=said):
            prune.prune(run)


def test_dicts_have_no_order_that_could_mean_distances(asked, certificates):
    backwards = {query: dict(reversed(listed.items())) for query, listed in run_of(asked[:1]).items()}
    assert beir.Prune(certificates.plain).prune(backwards)
