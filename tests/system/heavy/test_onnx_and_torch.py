"""The same model by torch and by onnxruntime gives the same scores."""

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer

from surecut.errors import InputError
from surecut.system.collection import Queries
from surecut.system.models.encoder import BiEncoder
from surecut.system.models.folder import find_model
from surecut.system.rerankers import CrossEncoder
from surecut.system.retrievers import Splade, UniCoil
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from tests.system.heavy.tiny import (
    DOCUMENTS,
    QUERIES,
    Tiny,
    bert,
    distilbert,
    library_folder,
    mono_bert,
    mono_electra,
    unicoil,
)

pytestmark = pytest.mark.heavy

ALL = Hits(np.arange(len(DOCUMENTS)), np.zeros(len(DOCUMENTS), np.float32))
ASKED = Queries([f"q{n}" for n in range(len(QUERIES))], QUERIES)
RERANKERS = {
    "MonoBERT": mono_bert,
    "MonoELECTRA": mono_electra,
    "DistilBERT": lambda folder: distilbert(transformers.DistilBertForSequenceClassification, folder, num_labels=1),
}
SPARSE = {"unicoil": (UniCoil, unicoil), "splade": (Splade, lambda folder: bert(transformers.BertForMaskedLM, folder))}


class Positional(torch.nn.Module):
    """Inputs by place, one output: what an exporter takes."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *given: torch.Tensor) -> torch.Tensor:
        found = self.model(**dict(zip(self.names, given, strict=True)))
        return found if isinstance(found, torch.Tensor) else found[0]


def exported(tiny: Tiny, folder: Path) -> str:
    """The model as model.onnx beside its settings, without its torch weights."""
    takes_types = not isinstance(tiny.model, transformers.DistilBertPreTrainedModel)
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if takes_types else [])]
    given = tiny.tokenizer(*QUERIES[:2], padding="max_length", max_length=20, return_tensors="pt")
    shutil.copytree(tiny.folder, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    free = {0: "batch", 1: "length"}
    model = type(tiny.model).from_pretrained(tiny.folder, attn_implementation="eager").eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Positional(model, names),
            tuple(given[name] for name in names),
            folder / "model.onnx",
            input_names=names,
            output_names=["output"],
            dynamic_axes=dict.fromkeys(names, free) | {"output": {0: "batch"}},
            dynamo=False,
        )
    assert find_model(str(folder)).graph == folder / "model.onnx"
    return str(folder)


@pytest.mark.parametrize("name", RERANKERS)
def test_a_cross_encoder_scores_alike(name: str, folder_of, store: TextStore, tmp_path: Path) -> None:
    tiny = RERANKERS[name](folder_of(name))
    by_torch = CrossEncoder(tiny.name).rerank(ASKED, [ALL] * len(ASKED), store)
    by_onnx = CrossEncoder(exported(tiny, tmp_path / "onnx")).rerank(ASKED, [ALL] * len(ASKED), store)
    np.testing.assert_allclose(np.stack(by_onnx), np.stack(by_torch), atol=1e-4)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_a_bi_encoder_encodes_alike(pooling: str, folder_of, tmp_path: Path) -> None:
    tiny = bert(transformers.BertModel, folder_of("bi"))
    by_torch = BiEncoder(tiny.name, pooling=pooling, normalise=True).documents(DOCUMENTS)
    by_onnx = BiEncoder(exported(tiny, tmp_path / "onnx"), pooling=pooling, normalise=True).documents(DOCUMENTS)
    np.testing.assert_allclose(by_onnx, by_torch, atol=1e-4)


@pytest.mark.parametrize("kind", SPARSE)
def test_a_sparse_encoder_weighs_alike(kind: str, folder_of, tmp_path: Path) -> None:
    retriever, build = SPARSE[kind]
    tiny = build(folder_of(kind))
    by_torch = retriever(tiny.name).of_documents.documents(DOCUMENTS)
    by_onnx = retriever(exported(tiny, tmp_path / "onnx")).of_documents.documents(DOCUMENTS)
    np.testing.assert_array_equal(by_onnx.ends, by_torch.ends)
    np.testing.assert_array_equal(by_onnx.terms, by_torch.terms)
    np.testing.assert_allclose(by_onnx.weights, by_torch.weights, atol=1e-4)


@pytest.mark.parametrize("modules", [["Pooling"], ["Pooling", "Normalize"], ["Pooling", "Dense"]], ids="+".join)
def test_a_sentence_transformers_folder_with_onnx_in_it_encodes_as_the_library_does(
    modules: list[str], tmp_path: Path
) -> None:
    folder = library_folder(tmp_path / "library", modules)
    wanted = SentenceTransformer(str(folder), device="cpu").encode(DOCUMENTS)
    exported(bert(transformers.BertModel, tmp_path / "plain"), tmp_path / "onnx")
    shutil.copy(tmp_path / "onnx" / "model.onnx", folder)
    try:
        found = BiEncoder(str(folder)).documents(DOCUMENTS)
    except InputError:
        assert "Dense" in modules  # what onnxruntime alone cannot do may be refused
        return
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=1e-4)
