"""Recipes: what they say is what is made, and every mistake is named with its place."""

import shutil

import pytest

from surecut import InputError
from surecut.system.recipe import read_recipe
from surecut.system.rerankers import BiEncoderReranker, CrossEncoder, RunReranker
from surecut.system.retrievers import BM25, Dense, RunRetriever, Splade, UniCoil
from surecut.system.sources import Beir, Files, IrDataset


def test_a_recipe_says_what_is_made(recipe, beir, models):
    path = recipe(
        depth=30,
        collection=f'beir = "{beir}"\nsplit = ["test", "dev"]\nsample = 9',
        retriever='kind = "bm25"\nk1 = 1\nb = 0.75\nstemmer = "german"',
        reranker=f'kind = "cross-encoder"\nmodel = "{models.cross}"\nmax_length = 64\nlong_documents = "refuse"',
        fusion='[fusion]\nbeta = "fit"\nmeasure = "nDCG@10"',
    )
    made = read_recipe(path)
    assert (made.name, made.depth, made.path) == ("tiny", 30, path)
    assert made.collection.source == Beir(beir, ["test", "dev"])
    assert made.collection.sample == 9
    assert made.retriever == BM25(k1=1.0, b=0.75, stemmer="german")
    assert isinstance(made.reranker, CrossEncoder)
    assert (made.reranker.max_length, made.reranker.long_documents) == (64, "refuse")
    assert (made.fusion.beta, made.fusion.measure) == ("fit", "nDCG@10")


def test_what_is_left_out_has_a_default(tmp_path, beir, models):
    path = tmp_path / "bare.toml"
    path.write_text(
        f'[collection]\nbeir = "{beir}"\n[retriever]\nkind = "bm25"\n'
        f'[reranker]\nkind = "cross-encoder"\nmodel = "{models.cross}"\n'
    )
    made = read_recipe(path)
    assert (made.name, made.depth, made.fusion.beta) == ("bare", 1000, 0.0)
    assert made.collection.source == Beir(beir, ["test"])
    assert made.retriever == BM25()


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ('kind = "dense"\nmodel = "{bi}"\nsearch_by = "hnsw"', Dense),
        ('kind = "unicoil"\nmodel = "{unicoil}"', UniCoil),
        ('kind = "splade"\nmodel = "{splade}"', Splade),
        ('kind = "run"\nrun = "a.run"\nsystem = "anserini"', RunRetriever),
    ],
)
def test_every_kind_of_retriever_can_be_named(recipe, models, section, kind):
    assert isinstance(read_recipe(recipe(retriever=section.format(**vars(models)))).retriever, kind)


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ('kind = "bi-encoder"\nmodel = "{bi}"\nnormalise = true', BiEncoderReranker),
        ('kind = "run"\nrun = "a.run"', RunReranker),
    ],
)
def test_every_kind_of_reranker_can_be_named(recipe, models, section, kind):
    assert isinstance(read_recipe(recipe(reranker=section.format(**vars(models)))).reranker, kind)


def test_other_collections_can_be_named(recipe, tmp_path):
    files = read_recipe(recipe(collection='documents = "d.jsonl"\nqueries = "q.jsonl"\nqrels = "qrels"'))
    assert files.collection.source == Files(tmp_path / "d.jsonl", tmp_path / "q.jsonl", tmp_path / "qrels")
    known = read_recipe(recipe(collection='ir_datasets = "beir/quora/test"'))
    assert known.collection.source == IrDataset("beir/quora/test")


def test_relative_paths_start_at_the_recipe(recipe, models, tmp_path, monkeypatch):
    shutil.copytree(models.cross, tmp_path / "models" / "cross")
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    for name in ("models/cross", "./models/cross"):
        path = recipe(
            collection='beir = "data/tiny"',
            retriever='kind = "run"\nrun = "first.run"',
            reranker=f'kind = "cross-encoder"\nmodel = "{name}"',
        )
        made = read_recipe(path)
        assert made.collection.source.path == tmp_path / "data" / "tiny"
        assert made.retriever.run == tmp_path / "first.run"
        assert made.reranker.fingerprint == CrossEncoder(str(models.cross)).fingerprint


def test_a_relative_query_model_starts_at_the_recipe_too(recipe, models, tmp_path, monkeypatch):
    shutil.copytree(models.bi, tmp_path / "bi")
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    section = 'kind = "dense"\nmodel = "./bi"\nquery_model = "./bi"\npooling = "mean"'
    assert read_recipe(recipe(retriever=section)).retriever.queries(["balak"]).shape == (1, 32)


def test_variables_are_expanded_but_not_written_down(recipe, beir, monkeypatch):
    monkeypatch.setenv("SURECUT_DATA", str(beir.parent))
    made = read_recipe(recipe(collection='beir = "${SURECUT_DATA}/tiny"'))
    assert made.collection.source.path == beir
    assert made.text["collection"] == {"beir": "${SURECUT_DATA}/tiny"}


MISTAKES = {
    "unknown key": ({"retriever": 'kind = "bm25"\nk2 = 1'}, r"\[retriever\]: unknown key 'k2': did you mean 'k1'\?"),
    "unknown key above": ({"depth": "3\ndephts = 3"}, r"unknown key 'dephts': did you mean 'depth'\?"),
    "unknown section": ({"fusion": "[fussion]\nbeta = 0"}, "unknown key 'fussion': did you mean 'fusion'"),
    "unknown in fusion": ({"fusion": "[fusion]\nweight = 0"}, r"\[fusion\]: unknown key 'weight'"),
    "unknown in collection": ({"collection": 'bier = "x"'}, r"\[collection\]: unknown key 'bier': did you mean 'beir'"),
    "private field": ({"retriever": 'kind = "bm25"\n_index = 1'}, r"\[retriever\]: unknown key '_index'"),
    "wrong type": ({"retriever": 'kind = "bm25"\nk1 = "high"'}, r"\[retriever\]: k1 = 'high': a number is expected"),
    "truth as number": ({"retriever": 'kind = "bm25"\nk1 = true'}, r"k1 = True: a number is expected"),
    "number as path": ({"collection": "beir = 3"}, r"\[collection\]: beir = 3: a path is expected"),
    "wrong split": ({"collection": 'beir = "x"\nsplit = [1]'}, r"split = \[1\]: a string or a list of strings"),
    "no split": ({"collection": 'beir = "x"\nsplit = []'}, r"\[collection\]: split = \[\]: name at least one"),
    "queries beside beir": ({"collection": 'beir = "x"\nqueries = "q"'}, r"'queries' belongs to documents"),
    "qrels beside beir": ({"collection": 'beir = "x"\nqrels = "q"'}, r"'qrels' belongs to documents"),
    "split elsewhere": ({"collection": 'ir_datasets = "x"\nsplit = "a"'}, r"'split' belongs to beir"),
    "wrong word": ({"fusion": '[fusion]\nbeta = "best"'}, r"\[fusion\]: beta = 'best': a number or 'fit' is expected"),
    "parameters": ({"retriever": 'kind = "bm25"\nb = 2'}, r"\[retriever\]: bm25 needs .* b between 0 and 1"),
    "no model": ({"reranker": 'kind = "cross-encoder"'}, r"\[reranker\]: 'model' is missing"),
    "no kind": ({"retriever": "k1 = 1"}, r"\[retriever\]: no kind; known are bm25, dense, unicoil, splade, run"),
    "unknown kind": ({"retriever": 'kind = "bm26"'}, r"\[retriever\]: unknown kind 'bm26': did you mean 'bm25'\?"),
    "two collections": ({"collection": 'beir = "x"\nir_datasets = "y"'}, "one of beir, ir_datasets or documents"),
    "no collection": ({"collection": ""}, r"\[collection\]: name the collection by one of"),
    "documents alone": ({"collection": 'documents = "x"'}, "documents and queries belong together"),
    "depth 0": ({"depth": 0}, "depth = 0: a whole number of at least 1"),
    "depth true": ({"depth": "true"}, "depth = True: a whole number"),
    "sample 0": ({"collection": 'beir = "x"\nsample = 0'}, r"\[collection\]: sample = 0: at least 1 query"),
    "unset variable": (
        {"collection": 'beir = "${NOT_SET_ANYWHERE}/x"'},
        r"\$\{NOT_SET_ANYWHERE\} is not set; export NOT_SET_ANYWHERE=",
    ),
    "missing model": (
        {"reranker": 'kind = "cross-encoder"\nmodel = "./nowhere"'},
        r"\[reranker\]: .*nowhere: no such model folder",
    ),
}


@pytest.mark.parametrize(("sections", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_file_and_section(recipe, sections, said):
    with pytest.raises(InputError, match=rf"recipe\.toml.*{said}"):
        read_recipe(recipe(**sections))


UNNOTICED = {
    "no split": ({"collection": 'beir = "x"\nsplit = []'}, r"\[collection\]: split"),
    "weight beyond 1": ({"fusion": "[fusion]\nbeta = 7.0"}, r"\[fusion\].* 7"),
    "unknown measure": ({"fusion": '[fusion]\nmeasure = "XYZ@10"'}, r"\[fusion\].*XYZ"),
}


@pytest.mark.parametrize(("sections", "said"), UNNOTICED.values(), ids=UNNOTICED)
def test_a_mistake_is_noticed_before_anything_is_computed(recipe, sections, said):
    with pytest.raises(InputError, match=rf"recipe\.toml.*{said}"):
        read_recipe(recipe(**sections))


@pytest.mark.parametrize("section", ["collection", "retriever", "reranker"])
@pytest.mark.parametrize("instead", ["", "{section} = 3\n"])
def test_a_missing_section_is_named(recipe, section, instead):
    path = recipe()
    lines = path.read_text().split("[")
    kept = "[".join(part for part in lines if not part.startswith(section))
    path.write_text(instead.format(section=section) + kept)
    with pytest.raises(InputError, match=rf"recipe\.toml: no section \[{section}\]"):
        read_recipe(path)


def test_fusion_that_is_no_section_is_refused(recipe):
    with pytest.raises(InputError, match=r"\[fusion\]: a section is expected, not 3"):
        read_recipe(recipe(depth="50\nfusion = 3"))


@pytest.mark.parametrize("content", [b"depth = ", b"[collection\n", b"\xff\xfe", b'{"json": 1}'])
def test_what_is_no_toml_is_refused(tmp_path, content):
    (tmp_path / "bad.toml").write_bytes(content)
    with pytest.raises(InputError, match=r"bad\.toml: not (TOML|a text file)"):
        read_recipe(tmp_path / "bad.toml")


def test_a_recipe_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.toml: No such file"):
        read_recipe(tmp_path / "nowhere.toml")
    with pytest.raises(InputError, match="Is a directory"):
        read_recipe(tmp_path)


def test_a_relative_path_in_a_variable_is_relative_to_where_the_command_runs(recipe, tmp_path, monkeypatch):
    monkeypatch.setenv("DATA", "elsewhere")
    source = read_recipe(recipe(collection='beir = "${DATA}/small.zip"')).collection.source
    assert source.name == "elsewhere/small.zip"
    with pytest.raises(InputError, match=r"elsewhere/small\.zip: no such folder or zip"):
        source.qrels()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a = " + "[" * 10_000, "not a recipe; it is nested too deep"),
        ("a = " + "{a=" * 4000, "not a recipe; it is nested too deep"),
        ("a." * 2000 + "a = 1", "not a recipe; it is nested too deep"),
        ("depth = " + "9" * 10_000, "not TOML"),
        ("x" * 40_000, "more than 16,384 bytes"),
    ],
)
def test_what_would_take_forever_is_refused(tmp_path, content, said):
    (tmp_path / "bad.toml").write_text(content)
    with pytest.raises(InputError, match=rf"bad\.toml: {said}"):
        read_recipe(tmp_path / "bad.toml")
