"""Checkpoints that cannot be used are refused, in one sentence that names them."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from surecut.errors import InputError
from surecut.system.collection import Queries
from surecut.system.models.encoder import BiEncoder
from surecut.system.rerankers import CrossEncoder
from surecut.system.retrievers import Splade, UniCoil
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from tests.system import making
from tests.system.heavy import tiny
from tests.system.heavy.tiny import QUERIES, bert, dpr, library_folder, mono_bert, mono_electra, unicoil

pytestmark = pytest.mark.heavy


def reranked(folder: Path, store: TextStore, **options: str) -> None:
    CrossEncoder(str(folder), **options).rerank(Queries(["q"], QUERIES[:1]), [Hits(np.arange(2), np.zeros(2))], store)


def encoded(folder: Path, store: TextStore, **options: str) -> None:
    BiEncoder(str(folder), pooling="mean", **options).documents(QUERIES)


def as_library_does(folder: Path, store: TextStore, **options: str) -> None:
    BiEncoder(str(folder), **options).documents(QUERIES)


def weighed(folder: Path, store: TextStore, **options: str) -> None:
    UniCoil(str(folder), **options).of_documents.documents(QUERIES)


def expanded(folder: Path, store: TextStore, **options: str) -> None:
    Splade(str(folder), **options).of_documents.documents(QUERIES)


USED = {
    "MonoBERT": (mono_bert, reranked),
    "MonoELECTRA": (mono_electra, reranked),
    "plain": (lambda folder: bert(transformers.BertModel, folder), encoded),
    "DPR": (lambda folder: dpr(transformers.DPRContextEncoder, folder, seed=1), encoded),
    "sentence-transformers": (lambda folder: library_folder(folder, ["Pooling"]), as_library_does),
    "UniCOIL": (unicoil, weighed),
    "SPLADE": (lambda folder: bert(transformers.BertForMaskedLM, folder), expanded),
}


@pytest.fixture(scope="module")
def checkpoints(folder_of) -> dict[str, Path]:
    made = {name: build(folder_of("whole") / "checkpoint") for name, (build, _) in USED.items()}
    return {name: each.folder if isinstance(each, tiny.Tiny) else each for name, each in made.items()}


@pytest.fixture(params=list(USED))
def copy(request: pytest.FixtureRequest, checkpoints: dict[str, Path], tmp_path: Path, store: TextStore):
    """A checkpoint to break, and its use."""
    folder = Path(shutil.copytree(checkpoints[request.param], tmp_path / "checkpoint"))
    use = USED[request.param][1]
    return folder, lambda **options: use(folder, store, **options)


def refusal(use: Callable[..., None], **options: str) -> str:
    with pytest.raises(InputError) as refused:
        use(**options)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


def test_a_whole_checkpoint_is_used(copy) -> None:
    copy[1]()


def test_a_truncated_safetensors_file_is_refused(copy) -> None:
    folder, use = copy
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    assert str(folder) in refusal(use)


def test_a_file_that_is_no_safetensors_is_refused(copy) -> None:
    folder, use = copy
    (folder / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert str(folder) in refusal(use)


def test_a_damaged_file_of_torch_s_own_format_is_refused(copy) -> None:
    folder, use = copy
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert str(folder) in refusal(use)


def test_missing_weights_are_refused(copy) -> None:
    folder, use = copy
    (folder / "model.safetensors").unlink()
    assert str(folder) in refusal(use)


def test_a_missing_config_is_refused(copy) -> None:
    folder, use = copy
    (folder / "config.json").unlink()
    assert str(folder) in refusal(use)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_one_sentence(copy) -> None:
    assert "device = 'cuda'" in refusal(copy[1], device="cuda")


def test_a_device_that_nobody_knows_is_one_sentence(copy) -> None:
    assert "device = 'abacus'" in refusal(copy[1], device="abacus")


@pytest.mark.parametrize("kind", ["BertModel", "ElectraModel"])
def test_a_model_without_a_classification_head_is_no_reranker(kind: str, tmp_path: Path, store: TextStore) -> None:
    built = (mono_bert if kind == "BertModel" else mono_electra)(tmp_path / "whole")
    base = built.model.base_model
    base.save_pretrained(tmp_path / "headless")
    built.tokenizer.save_pretrained(tmp_path / "headless")
    sentence = refusal(lambda: reranked(tmp_path / "headless", store))
    assert "the checkpoint has no weights for classifier" in sentence
    assert "it was not trained for this" in sentence


def test_a_sentence_transformers_folder_without_a_tokenizer_is_refused(
    checkpoints: dict[str, Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(checkpoints["sentence-transformers"], tmp_path / "checkpoint")
    for path in (*folder.glob("tokenizer*"), *folder.glob("vocab*")):
        path.unlink()
    with pytest.raises(InputError, match="checkpoint: no tokenizer"):
        BiEncoder(str(folder))


@pytest.mark.parametrize("name", ["plain", "sentence-transformers", "MonoBERT"])
def test_a_tokenizer_with_more_words_than_the_model_is_one_sentence(
    name: str, checkpoints: dict[str, Path], tmp_path: Path, store: TextStore
) -> None:
    folder = shutil.copytree(checkpoints[name], tmp_path / "checkpoint")
    words = (folder / "tokenizer.json").read_text(encoding="utf-8")
    numbers = re.compile(r'("\w+"): (\d+)')
    vocabulary, first, rest = words.partition('"vocab"')
    (folder / "tokenizer.json").write_text(
        vocabulary + first + numbers.sub(lambda match: f"{match[1]}: {int(match[2]) + 5000}", rest), encoding="utf-8"
    )
    with pytest.raises(InputError, match="failed on a batch"):
        USED[name][1](folder, store)


def without(folder: Path, whole: tiny.Tiny, part: str) -> Path:
    """The checkpoint without the tensors whose names hold `part`."""
    kept = {name: tensor for name, tensor in whole.model.state_dict().items() if part not in name}
    assert len(kept) < len(whole.model.state_dict())
    whole.model.config.save_pretrained(folder)
    whole.tokenizer.save_pretrained(folder)
    torch.save(kept, folder / "pytorch_model.bin")
    return folder


def test_a_classifier_without_its_pooler_is_refused(tmp_path: Path, store: TextStore) -> None:
    """BERT's classifier reads the pooler's output: one with random weights would give random scores."""
    folder = without(tmp_path / "part", mono_bert(tmp_path / "whole"), "pooler")
    assert "pooler" in refusal(lambda: reranked(folder, store))


def test_a_bi_encoder_without_its_pooler_is_used(tmp_path: Path) -> None:
    whole = bert(transformers.BertModel, tmp_path / "whole")
    part = without(tmp_path / "part", whole, "pooler")
    found, wanted = (BiEncoder(str(each), pooling="mean").documents(QUERIES) for each in (part, whole.folder))
    np.testing.assert_array_equal(found, wanted)


def test_an_encoder_without_one_of_its_layers_is_refused(tmp_path: Path, store: TextStore) -> None:
    folder = without(tmp_path / "part", bert(transformers.BertModel, tmp_path / "whole"), "layer.1.")
    assert "encoder.layer.1." in refusal(lambda: encoded(folder, store))


def test_unicoil_without_one_of_its_layers_is_refused(tmp_path: Path, store: TextStore) -> None:
    folder = without(tmp_path / "part", unicoil(tmp_path / "whole"), "layer.1.")
    assert "encoder.layer.1." in refusal(lambda: weighed(folder, store))


@pytest.mark.parametrize(
    ("reason", "reranker"),
    [
        ("cannot be loaded", 'model = "damaged"'),
        ("no weights for classifier", 'model = "headless"'),
        pytest.param(
            "device = 'cuda'",
            'model = "whole"\ndevice = "cuda"',
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU"),
        ),
    ],
)
def test_the_command_line_says_so_in_one_line(reason: str, reranker: str, tmp_path: Path, surecut) -> None:
    whole = mono_bert(tmp_path / "whole")
    damaged = Path(shutil.copytree(whole.folder, tmp_path / "damaged")) / "model.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1000])
    whole.model.base_model.save_pretrained(tmp_path / "headless")
    whole.tokenizer.save_pretrained(tmp_path / "headless")
    making.write_beir(tmp_path / "beir", queries=4, documents=10)
    recipe = making.write_recipe(
        tmp_path / "recipe.toml", collection='beir = "beir"', reranker=f'kind = "cross-encoder"\n{reranker}', depth=5
    )
    result = surecut("score", recipe, "-o", tmp_path / "table")
    assert result.status == 2
    last = result.err.strip().splitlines()[-1]
    assert last.startswith("surecut: ")
    assert reason in last
    assert "Traceback" not in result.err
