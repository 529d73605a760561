"""ONNX models with onnxruntime alone."""

import mmap
from pathlib import Path
from typing import Any

from surecut.arrays import Array
from surecut.errors import InputError, Unscorable
from surecut.extras import needed
from surecut.runners.threads import cores
from surecut.system.models.tokens import Batch

_SCALES_OVER_BATCH = (b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul", b"DynamicQuantizeLSTM")
_BATCH = 16


def scales_over_batch(path: Path) -> bool:
    """Are activations quantised with a scale taken over the whole batch? Then a score depends on its company."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(name) >= 0 for name in _SCALES_OVER_BATCH)


class OnnxModel:
    """One network on one thread a batch, several batches at a time: the best use of a few cores."""

    def __init__(self, path: Path, batch_size: int | None = None) -> None:
        runtime = needed("onnxruntime", "onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime's errors share no base of their own
            raise InputError(f"{path}: not a model that onnxruntime can run ({str(error).splitlines()[0]})") from None
        self._path = path
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._outputs = [each.name for each in self._session.get_outputs()]
        self.workers = cores()
        self.batch_size = 1 if scales_over_batch(path) else batch_size or _BATCH

    def __call__(self, batch: Batch) -> Array:
        given: dict[str, Any] = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
        inputs = {name: given[name] for name in self._inputs if name in given}
        try:
            result: Array = self._session.run(self._outputs[:1], inputs)[0]
        except Exception as error:  # the runtime's errors share no base of their own
            raise Unscorable(f"{self._path}: cannot read these tokens ({str(error).splitlines()[0]})") from None
        return result
