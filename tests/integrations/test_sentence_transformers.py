"""`CrossEncoder.rank` behind a certificate; the real library and a real model are in the heavy tests."""

import numpy as np
import pytest

from surecut import InputError
from surecut.integrations.sentence_transformers import Prune
from tests.integrations.adapters import Predicting


def test_results_are_those_of_rank(asked, pairs, certificates, expected):
    prune = Prune(certificates.plain, Predicting(pairs))
    each = asked[0]
    results = prune.rank(each.query, each.texts, 3, True, scores=each.scores, ids=each.ids)
    listed = expected(certificates.plain, each)[:3]
    assert [set(result) for result in results] == [{"corpus_id", "score", "text"}] * 3
    assert [each.ids[result["corpus_id"]] for result in results] == [name for name, _ in listed]
    assert [result["score"] for result in results] == pytest.approx([score for _, score in listed])
    assert all(result["text"] == each.texts[result["corpus_id"]] for result in results)


def test_only_survivors_reach_the_model(asked, pairs, certificates):
    model = Predicting(pairs)
    prune = Prune(certificates.plain, model)
    for each in asked[:10]:
        prune.rank(each.query, each.texts, scores=each.scores, ids=each.ids)
    assert model.seen == sum(certificates.plain.keep(each.scores) for each in asked[:10])


def test_many_queries_go_through_the_model_together(asked, pairs, certificates):
    calls = []

    class Counting(Predicting):
        def predict(self, inputs, **options):
            calls.append((len(inputs), options))
            return super().predict(inputs)

    prune = Prune(certificates.both, Counting(pairs))
    chosen = asked[:6]
    together = prune.rank_many(
        [each.query for each in chosen],
        [each.texts for each in chosen],
        scores=[each.scores for each in chosen],
        ids=[each.ids for each in chosen],
        batch_size=7,
    )
    assert calls == [(sum(certificates.both.keep(each.scores) for each in chosen), {"batch_size": 7})]
    alone = [prune.rank(each.query, each.texts, scores=each.scores, ids=each.ids) for each in chosen]
    assert together == alone


def test_appended_documents_come_last_without_a_score(asked, pairs, certificates):
    each = asked[0]
    results = Prune(certificates.append, Predicting(pairs)).rank(each.query, each.texts, scores=each.scores)
    kept = certificates.append.keep(each.scores)
    assert len(results) == len(each.ids)
    assert [result["score"] is None for result in results] == [place >= kept for place in range(len(results))]


def test_what_is_missing_is_said(asked, pairs, certificates):
    prune, each = Prune(certificates.plain, Predicting(pairs)), asked[0]
    with pytest.raises(InputError, match="scores="):
        prune.rank(each.query, each.texts)
    with pytest.raises(InputError, match=f"2 first-stage scores for {len(each.texts)} documents"):
        prune.rank(each.query, each.texts, scores=each.scores[:2])
    with pytest.raises(InputError, match="2 queries, 1 lists"):
        prune.rank_many(["a", "b"], [each.texts], scores=[each.scores])


def test_scores_may_come_one_by_one(asked, pairs, certificates):
    prune, each = Prune(certificates.plain, Predicting(pairs)), asked[0]
    assert prune.rank(each.query, each.texts, scores=iter(each.scores)) == prune.rank(
        each.query, each.texts, scores=np.array(each.scores)
    )


def test_a_model_with_two_labels_is_refused(asked, pairs, certificates):
    class Two(Predicting):
        def predict(self, inputs, **_):
            return super().predict(inputs)[:, None].repeat(2, axis=1)

    each = asked[0]
    with pytest.raises(InputError, match="a ranking needs one each"):
        Prune(certificates.plain, Two(pairs)).rank(each.query, each.texts, scores=each.scores)


def test_odd_calls_are_said(asked, pairs, certificates):
    prune, each = Prune(certificates.plain, Predicting(pairs)), asked[0]
    assert prune.rank_many([], [], scores=[]) == []
    with pytest.raises(InputError, match="2 of ids"):
        prune.rank_many([each.query], [each.texts], scores=[each.scores], ids=[each.ids, each.ids])
    with pytest.raises(InputError, match="document 1 has no id"):
        prune.rank(each.query, each.texts, scores=each.scores, ids=[each.ids[0], None, *each.ids[2:]])
    with pytest.raises(InputError, match="must be a list of numbers, not dict"):
        prune.rank(each.query, each.texts, scores=dict(zip(each.ids, each.scores, strict=True)))
    with pytest.raises(InputError, match="anything with its predict"):
        Prune(certificates.plain, None)


@pytest.mark.parametrize("shaped", [lambda scores: scores[:, None], lambda scores: scores.astype(object)])
def test_shapes_of_scores(asked, pairs, certificates, shaped):
    class Shaped(Predicting):
        def predict(self, inputs, **_):
            return shaped(super().predict(inputs))

    each = asked[0]
    prune = Prune(certificates.plain, Shaped(pairs))
    if shaped(np.zeros(2)).dtype == object:
        with pytest.raises(InputError, match="a ranking needs one each"):
            prune.rank(each.query, each.texts, scores=each.scores)
    else:
        assert prune.rank(each.query, each.texts, scores=each.scores)
