"""Model folders: where one is, how long a text it takes, and a fingerprint of what is in it."""

import hashlib
import json
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surecut.errors import InputError
from surecut.extras import needed

_LONGEST = 512
_UNREAD = ("*.h5", "*.msgpack", "*.ot", "openvino/*")
_WEIGHTS = ("*.safetensors", "*.bin")
_SETTINGS = ("*.json", "*.txt", "*.model")
_GRAPHS = ("*.onnx", "*.onnx_data*")
_NAMES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx", "model_optimized.onnx")


@dataclass(frozen=True)
class ModelFiles:
    """A model's folder, the ONNX graph it runs on if it does not run on torch, and its tokenizer's folder."""

    folder: Path
    graph: Path | None
    words: Path

    @property
    def libraries(self) -> tuple[str, ...]:
        """What the model runs on."""
        return ("torch", "transformers", "tokenizers") if self.graph is None else ("onnxruntime", "tokenizers")

    def longest_text(self, asked: int | None) -> int:
        """How many tokens the model takes: as asked, or what its own files say."""
        config = read_json(self.folder / "config.json")
        positions = config.get("max_position_embeddings")
        if positions and config.get("model_type") in ("roberta", "xlm-roberta", "mpnet"):
            positions -= 2  # these count positions from the padding token on
        if asked is not None:
            if asked < 8 or (positions and asked > positions):
                limit = positions or "so many"
                raise InputError(f"max_length = {asked}: {self.folder.name} takes between 8 and {limit} tokens")
            return asked
        own = (  # the first that is there counts, as in sentence-transformers and transformers
            read_json(self.folder / "sentence_bert_config.json").get("max_seq_length"),
            read_json(self.folder / "tokenizer_config.json").get("model_max_length"),
            (read_json(self.folder / "tokenizer.json").get("truncation") or {}).get("max_length"),
        )
        numbers = (each for each in own if isinstance(each, int | float) and 0 < each < 1_000_000)
        said = int(next(numbers, positions or _LONGEST))
        return min(said, int(positions or said))

    def fingerprint(self) -> str:
        """A hash over weights and settings, of the graph or of everything in the folder; its place is not in it."""
        weights = _found(self.folder, _WEIGHTS) if self.graph is None else [self.graph, *_beside(self.graph)]
        if not weights:
            raise InputError(
                f"{self.folder}: no weights; a model folder holds model.onnx or model.safetensors "
                '(of the hub, an ONNX model is named by file = "onnx/model.onnx")'
            )
        elsewhere = [] if self.words == self.folder else _found(self.words, _SETTINGS)
        total = hashlib.blake2b(digest_size=16)
        for path in (*weights, *_found(self.folder, _SETTINGS), *elsewhere):
            with path.open("rb") as file:
                total.update(path.name.encode() + hashlib.file_digest(file, "blake2b").digest())
        return total.hexdigest()


def find_model(name: str, file: str | None = None, tokenizer: str | None = None) -> ModelFiles:
    """A folder as it is, ONNX if it has that; any other name is one of the hub, ONNX if a file of it is named."""
    folder = Path(name)
    if not folder.is_dir():
        folder = _fetched(name, ignore=(*_UNREAD, *(() if file else _GRAPHS)))
        graph = None if file is None else _graph(folder, file)
    else:
        graph = _graph(folder, file)
    return ModelFiles(folder, graph, folder if tokenizer is None else _words(tokenizer))


def _words(name: str) -> Path:
    return Path(name) if Path(name).is_dir() else _fetched(name, only=_SETTINGS)


def _fetched(name: str, only: tuple[str, ...] | None = None, ignore: tuple[str, ...] | None = None) -> Path:
    if Path(name).is_absolute() or name.startswith(".") or name.count("/") != 1:
        raise InputError(f"{name}: no such model folder")
    hub = needed("huggingface_hub", "onnx")
    try:
        return Path(hub.snapshot_download(name, allow_patterns=only, ignore_patterns=ignore))
    except Exception as error:  # many kinds of network and hub errors
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"model '{name}': neither a folder nor to be had from the hub ({reason})") from None


def _graph(folder: Path, file: str | None) -> Path | None:
    """The ONNX file of a folder, if it has one."""
    if file is not None and not (folder / file).is_file():
        raise InputError(f"{folder / file}: no such file")
    found = [folder / name for name in (_NAMES if file is None else (file,)) if (folder / name).is_file()]
    if found and not found[0].stat().st_size:
        raise InputError(f"{found[0]}: empty; was it downloaded to the end?")
    return found[0] if found else None


def read_json(path: Path) -> dict[str, Any]:
    """A settings file; empty when there is none."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{path}: not readable as JSON") from None
    return found if isinstance(found, dict) else {}


def _beside(graph: Path) -> list[Path]:
    """Files that a large graph keeps its tensors in: those whose names it holds."""
    with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        others = (path for path in graph.parent.iterdir() if path.is_file() and path != graph)
        return sorted(path for path in others if content.find(path.name.encode()) >= 0)


def _found(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    return sorted(path for pattern in patterns for path in folder.rglob(pattern))
