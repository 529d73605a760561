"""PyTerrier pipelines without a JVM: first stages from frames, and bm25s in a transformer."""

import bm25s
import pandas as pd
import pyterrier as pt
import pytest

from surecut import InputError
from surecut.integrations.pyterrier import Prune
from tests.integrations.adapters import frame_of, mono


@pytest.fixture
def first_stage(asked):
    return pt.Transformer.from_df(pd.concat([frame_of(each) for each in asked], ignore_index=True))


@pytest.fixture
def topics(asked):
    return pd.DataFrame({"qid": [each.query_id for each in asked], "query": [each.query for each in asked]})


def test_a_pipeline_reads_as_a_sentence(asked, pairs, certificates, expected, first_stage, topics):
    found = (first_stage >> Prune(certificates.plain) >> mono(pairs)).transform(topics)
    for each in asked:
        listed = found[found["qid"] == each.query_id].sort_values("rank")
        assert listed["docno"].to_list()[:1] == [name for name, _ in expected(certificates.plain, each)][:1]
        assert set(listed["docno"]) == {name for name, _ in expected(certificates.plain, each)}


@pytest.mark.parametrize("kind", ["plain", "append", "fused", "both"])
def test_with_the_reranker_inside_it_makes_any_final_list(
    kind, asked, pairs, certificates, expected, first_stage, topics
):
    certificate = getattr(certificates, kind)
    found = (first_stage >> Prune(certificate, mono(pairs))).transform(topics)
    assert list(dict.fromkeys(found["qid"])) == [each.query_id for each in asked]
    for each in asked:
        listed = found[found["qid"] == each.query_id]
        assert listed["docno"].to_list() == [name for name, _ in expected(certificate, each)]
        assert listed["rank"].to_list() == list(range(len(listed)))
        assert listed["score"].is_monotonic_decreasing


def test_rows_columns_and_order_survive(certificates, first_stage, topics):
    every = first_stage.transform(topics)
    every["note"] = range(len(every))
    kept = Prune(certificates.plain).transform(every)
    assert list(kept.columns) == list(every.columns)
    assert kept["note"].is_monotonic_increasing
    pd.testing.assert_frame_equal(kept, every.iloc[kept["note"]].reset_index(drop=True))
    assert kept.index.tolist() == list(range(len(kept)))


def test_a_search_and_an_empty_frame(asked, certificates, first_stage):
    pipeline = first_stage >> Prune(certificates.plain)
    each = asked[2]
    found = pipeline.search(each.query, qid=each.query_id)
    assert len(found) == certificates.plain.keep(each.scores)
    nothing = first_stage.transform(pd.DataFrame({"qid": ["unknown"], "query": ["?"]}))
    assert Prune(certificates.plain).transform(nothing).empty


def test_bm25s_in_a_transformer(asked, pairs, certificates):
    """A first stage of one's own; its scores are not the certificate's, which it says."""
    texts = {name: text for each in asked for name, text in zip(each.ids, each.texts, strict=True)}
    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(texts.values()), show_progress=False), show_progress=False)

    class Bm25s(pt.Transformer):
        def transform(self, inp):
            frames = []
            for row in inp.itertuples():
                tokens = bm25s.tokenize(row.query, show_progress=False)
                found = index.retrieve(tokens, k=50, show_progress=False)
                names = [list(texts)[place] for place in found.documents[0]]
                scores = (found.scores[0] * 1000).tolist()
                given = {"docno": names, "score": scores, "text": [texts[name] for name in names]}
                frames.append(pd.DataFrame({"qid": row.qid, "query": row.query, **given, "rank": range(50)}))
            return pd.concat(frames, ignore_index=True)

    topics = pd.DataFrame({"qid": ["1"], "query": [asked[0].query]})
    with pytest.raises(InputError, match="another scale"):
        (Bm25s() >> Prune(certificates.plain)).transform(topics)
    found = (Bm25s() >> Prune(certificates.plain, any_system=True) >> mono(pairs)).transform(topics)
    assert 0 < len(found) < 50


def test_it_prints_as_the_code_that_makes_it(certificates, tmp_path):
    certificates.plain.save(tmp_path / "cert.json")
    path = str(tmp_path / "cert.json")
    assert repr(Prune(path)) == f"Prune({path!r})"
    assert eval(repr(Prune(path, any_length=True))) == Prune(path, any_length=True)
    assert certificates.plain.digest in repr(Prune(certificates.plain))


def test_equal_by_what_it_does(certificates, pairs, tmp_path):
    certificates.plain.save(tmp_path / "cert.json")
    one, same = Prune(certificates.plain), Prune(tmp_path / "cert.json")
    assert one == same
    assert hash(one) == hash(same)
    assert one != Prune(certificates.by_score)
    assert one != Prune(certificates.plain, any_length=True)
    assert one != Prune(certificates.plain, mono(pairs))
    assert one != "Prune"
    assert len({one, same, Prune(certificates.by_score)}) == 2


def test_columns_that_are_missing_are_named(asked, certificates):
    with pytest.raises(pt.validate.InputValidationError, match="score"):
        Prune(certificates.plain).transform(frame_of(asked[0]).drop(columns="score"))


def test_pyterrier_can_tell_its_columns(certificates, first_stage):
    columns = ["qid", "query", "docno", "score", "text", "rank"]
    assert set(pt.inspect.transformer_outputs(Prune(certificates.plain), columns)) == set(columns)


def test_pyterrier_can_tell_its_attributes(certificates, pairs):
    reranker = mono(pairs)
    attributes = pt.inspect.transformer_attributes(Prune(certificates.append, reranker, any_length=True))
    told = {each.name: each.value for each in attributes}
    given = {"certificate": certificates.append, "reranker": reranker, "any_length": True}
    assert told == {**given, "system": {}, "any_system": False}


def test_equal_final_scores_keep_the_certified_order(asked, certificates):
    """Evaluators break ties by document id; the certificate breaks them by the retriever's rank."""
    flat = pt.apply.doc_score(lambda row: 16777216.0)
    found = Prune(certificates.append, flat).transform(frame_of(asked[0]))
    assert found["docno"].to_list() == asked[0].ids
    assert found["score"].astype("float32").is_unique
    assert found["score"].astype("float32").is_monotonic_decreasing


def test_a_reranker_that_loses_documents_is_refused(asked, certificates):
    losing = pt.apply.generic(lambda frame: frame.iloc[1:])
    with pytest.raises(InputError, match="returned no score of document"):
        Prune(certificates.append, losing).transform(frame_of(asked[0]))


@pytest.mark.parametrize("column", ["qid", "docno"])
def test_rows_without_a_query_or_a_document_are_refused(column, asked, certificates):
    frame = frame_of(asked[0])
    frame.loc[2, column] = None
    with pytest.raises(InputError, match=f"row 2 of the results has no {column}"):
        Prune(certificates.plain).transform(frame)


def test_a_frame_may_be_indexed_by_its_columns(asked, certificates):
    frame = frame_of(asked[0])
    kept = Prune(certificates.plain).transform(frame.set_index(["qid", "docno"], drop=False))
    pd.testing.assert_frame_equal(kept, Prune(certificates.plain).transform(frame))


def test_a_refusal_names_the_query(asked, certificates, first_stage, topics):
    frame = first_stage.transform(topics)
    name = asked[3].query_id
    short = frame[(frame["qid"] != name) | (frame["rank"] < 3)]
    with pytest.raises(InputError, match=f"query '{name}': a list of 3 candidates"):
        Prune(certificates.plain).transform(short)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: pd.concat([frame, frame.assign(score=0.0)]), "twice for query"),
        (lambda frame: frame.assign(score="high"), "returned no score of document"),
    ],
)
def test_scores_of_a_reranker_are_one_number_each(change, said, asked, certificates):
    with pytest.raises(InputError, match=said):
        Prune(certificates.append, pt.apply.generic(change)).transform(frame_of(asked[0]))


def test_a_score_is_no_complex_number(asked, certificates):
    frame = frame_of(asked[0])
    with pytest.raises(InputError, match="has no first-stage score"):
        Prune(certificates.plain).transform(frame.assign(score=frame["score"] + 1j))


def test_a_reranker_must_be_one(asked, certificates):
    with pytest.raises(InputError, match="a PyTerrier transformer"):
        Prune(certificates.append, lambda frame: frame)
    unscored = pt.apply.generic(lambda frame: frame.drop(columns="score"))
    with pytest.raises(pt.validate.InputValidationError, match="score"):
        Prune(certificates.append, unscored).transform(frame_of(asked[0]))
