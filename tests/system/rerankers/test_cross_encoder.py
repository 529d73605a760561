"""Cross-encoders: scores are the model's, and a pair's score is its own."""

import json
import shutil

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from surecut import InputError
from surecut.system.collection import Queries
from surecut.system.rerankers import CrossEncoder
from surecut.system.topk import Hits
from tests.system.making import cross_encoder, raw_outputs, store, texts, token_numbers

QUERIES = Queries([f"q{number}" for number in range(6)], texts(6, seed=2, longest=8))


@pytest.fixture
def documents(tmp_path):
    return store(tmp_path / "store", [*texts(60, seed=3, longest=40), ""])


@pytest.fixture
def hits():
    """Candidates of every query: lists of different lengths, one of them empty."""
    draw = np.random.default_rng(0)
    sizes = (20, 0, 7, 33, 1, 12)
    chosen = [draw.permutation(61)[:size].astype(np.int64) for size in sizes]
    return [Hits(numbers, np.zeros(numbers.size, np.float32)) for numbers in chosen]


def raw(model, hits, documents):
    """Every pair through onnxruntime, one at a time."""
    path = model / "model.onnx"
    return [
        [
            raw_outputs(path, [token_numbers(text, documents.texts[int(number)])])[0].tolist()
            for number in each.documents[:4]
        ]
        for text, each in zip(QUERIES.texts, hits, strict=True)
    ]


def flat(scores):
    return np.concatenate(scores)


def test_one_label_is_the_logit(models, documents, hits):
    scores = CrossEncoder(str(models.cross)).rerank(QUERIES, hits, documents)
    assert [each.size for each in scores] == [20, 0, 7, 33, 1, 12]
    for found, expected in zip(scores, raw(models.cross, hits, documents), strict=True):
        assert found[:4] == pytest.approx([logit for (logit,) in expected], rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("auto", lambda first, second: np.exp(second) / (np.exp(first) + np.exp(second))),
        ("probability", lambda first, second: np.exp(second) / (np.exp(first) + np.exp(second))),
        ("log-probability", lambda first, second: second - np.log(np.exp(first) + np.exp(second))),
        ("logit", lambda first, second: second - first),
        ("second-logit", lambda first, second: second),
    ],
)
def test_two_labels_are_the_probability_of_the_second(models, documents, hits, output, expected):
    scores = CrossEncoder(str(models.mono), score=output).rerank(QUERIES, hits, documents)
    for found, labels in zip(scores, raw(models.mono, hits, documents), strict=True):
        assert found[:4] == pytest.approx([expected(*each) for each in np.float64(labels)], rel=1e-4, abs=1e-5)


def test_one_label_has_no_second_logit(models, documents, hits):
    with pytest.raises(InputError, match="has one label, so there is no second logit"):
        CrossEncoder(str(models.cross), score="second-logit").rerank(QUERIES, hits, documents)


def test_three_labels_are_refused(tmp_path, documents, hits):
    model = cross_encoder(tmp_path / "three", labels=3)
    with pytest.raises(InputError, match="3 labels; a reranker has one, or two of which the second counts"):
        CrossEncoder(str(model)).rerank(QUERIES, hits, documents)


def test_int8_scores_depend_on_the_batch_in_onnxruntime(models, documents):
    pairs = [token_numbers(QUERIES.texts[0], documents.texts[number]) for number in range(20)]
    together = raw_outputs(models.int8 / "model.onnx", pairs)[:, 0]
    alone = np.concatenate([raw_outputs(models.int8 / "model.onnx", [pair])[0] for pair in pairs])
    assert np.abs(together - alone).max() > 1e-3


@pytest.mark.parametrize("name", ["cross", "mono", "int8"])
def test_a_score_depends_on_no_batch_no_order_and_no_company(models, documents, hits, name):
    rounding = 0.0 if name == "int8" else 1e-5  # of 32-bit sums whose order depends on the shape of the batch

    def scores(queries, lists, **options):
        return CrossEncoder(str(getattr(models, name)), **options).rerank(queries, lists, documents)

    together = flat(scores(QUERIES, hits))
    for size in (1, 3, 64):
        assert flat(scores(QUERIES, hits, batch_size=size)) == pytest.approx(together, rel=rounding, abs=rounding)
    alone = [scores(QUERIES[place : place + 1], hits[place : place + 1])[0] for place in range(6)]
    assert flat(alone) == pytest.approx(together, rel=rounding, abs=rounding)
    backwards = [Hits(each.documents[::-1], each.scores) for each in hits]
    turned = flat([each[::-1] for each in scores(QUERIES, backwards)])
    assert turned == pytest.approx(together, rel=rounding, abs=rounding)


def test_only_the_document_is_cut(models, tmp_path):
    words = " ".join(texts(9, seed=1)).split()
    query, long = " ".join(words[:5]), " ".join(words[5:60])
    documents = store(tmp_path / "store", [long, " ".join(words[5:9])])
    both = [Hits(np.array([0, 1]), np.zeros(2, np.float32))]
    model = CrossEncoder(str(models.cross), max_length=12)
    ((cut, short),) = model.rerank(Queries(["q"], [query]), both, documents)
    assert cut == short
    assert model.notes(model.cut) == ["1 pairs had more than 12 tokens: their documents were cut"]


def test_long_documents_may_be_refused(models, documents, hits):
    model = CrossEncoder(str(models.cross), max_length=20, long_documents="refuse")
    with pytest.raises(
        InputError, match=r'document \'d\d+\' and its query have more than the 20 tokens .*"cut" cuts it'
    ):
        model.rerank(QUERIES, hits, documents)


def test_a_query_too_long_is_refused_with_its_text(models, documents, hits):
    queries = Queries(QUERIES.ids, [*QUERIES.texts[:5], " ".join(["balak"] * 20)])
    with pytest.raises(InputError, match=r"the query 'balak balak .*' alone has 23 tokens and the model takes 16"):
        CrossEncoder(str(models.cross), max_length=16).rerank(queries, hits, documents)


def test_a_score_that_is_no_number_is_refused(tmp_path, documents, hits):
    folder = cross_encoder(tmp_path / "broken")
    model = onnx.load(folder / "model.onnx")
    (bias,) = [each for each in model.graph.initializer if each.name == "bias"]
    bias.CopyFrom(numpy_helper.from_array(np.array([np.nan], np.float32), "bias"))
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(InputError, match="gave a score that is not a number"):
        CrossEncoder(str(folder)).rerank(QUERIES, hits, documents)


def without(name):
    return lambda folder: (folder / name).unlink()


def config(**settings):
    return lambda folder: (folder / "config.json").write_text(json.dumps(settings))


BROKEN = {
    "no tokenizer": (without("tokenizer.json"), {}, r"no tokenizer\.json"),
    "another file": (config(), {"file": "model_O4.onnx"}, r"model_O4\.onnx: no such file"),
    "too long": (config(max_position_embeddings=64), {"max_length": 65}, "max_length = 65: .* between 8 and 64 tokens"),
    "broken config": (
        lambda folder: (folder / "config.json").write_text("{"),
        {},
        r"config\.json: not readable as JSON",
    ),
}


@pytest.mark.parametrize(("spoil", "options", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_folder_is_refused_before_anything_is_computed(models, tmp_path, spoil, options, said):
    folder = tmp_path / "model"
    shutil.copytree(models.cross, folder)
    spoil(folder)
    with pytest.raises(InputError, match=said):
        CrossEncoder(str(folder), **options)


def test_a_folder_without_weights_is_refused(models, tmp_path):
    shutil.copytree(models.cross, tmp_path / "model")
    (tmp_path / "model" / "model.onnx").unlink()
    with pytest.raises(InputError, match="no weights"):
        _ = CrossEncoder(str(tmp_path / "model")).fingerprint


def test_the_limit_of_the_configuration_holds(tmp_path):
    folder = cross_encoder(tmp_path / "short")
    (folder / "config.json").write_text('{"max_position_embeddings": 24}')
    assert CrossEncoder(str(folder))._tokenizer.max_length == 24


def test_a_tokenizer_may_lie_elsewhere_and_counts_in_the_fingerprint(models, tmp_path, documents, hits):
    shutil.copytree(models.cross, tmp_path / "model")
    shutil.move(tmp_path / "model" / "tokenizer.json", tmp_path / "words.json")
    for name in ("words", "other-words"):
        (tmp_path / name).mkdir()
    shutil.copy(tmp_path / "words.json", tmp_path / "words" / "tokenizer.json")
    (tmp_path / "other-words" / "tokenizer.json").write_text((tmp_path / "words.json").read_text() + " ")
    one, other = (CrossEncoder(str(tmp_path / "model"), str(tmp_path / name)) for name in ("words", "other-words"))
    expected = CrossEncoder(str(models.cross)).rerank(QUERIES, hits, documents)
    assert flat(one.rerank(QUERIES, hits, documents)).tobytes() == flat(expected).tobytes()
    assert one.fingerprint != other.fingerprint


def test_the_fingerprint_knows_what_scores_depend_on(models):
    kinds = [
        CrossEncoder(str(models.cross)),
        CrossEncoder(str(models.other_cross)),
        CrossEncoder(str(models.int8)),
        CrossEncoder(str(models.mono)),
        CrossEncoder(str(models.mono), score="logit"),
        CrossEncoder(str(models.cross), max_length=64),
    ]
    assert len({each.fingerprint for each in kinds}) == len(kinds)
    assert CrossEncoder(str(models.cross), batch_size=5).fingerprint == kinds[0].fingerprint


def test_a_tokenizer_with_more_words_than_the_model_is_one_sentence(models, documents, hits, tmp_path):
    shutil.copytree(models.cross, tmp_path / "model")
    tokenizer = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] = {
        word: number if number < 4 else number + 1000 for word, number in tokenizer["model"]["vocab"].items()
    }
    (tmp_path / "model" / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(InputError, match=r"model\.onnx"):
        CrossEncoder(str(tmp_path / "model")).rerank(QUERIES, hits, documents)
