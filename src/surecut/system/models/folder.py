"""Model folders: where one is, how long a text it takes, and a fingerprint of what is in it."""

import hashlib
import json
import mmap
from pathlib import Path
from typing import Any

from surecut.errors import InputError
from surecut.system.extras import needed

_LONGEST = 512
_UNREAD = ("*.h5", "*.msgpack", "*.ot", "openvino/*")
_WEIGHTS = ("*.safetensors", "*.bin")
_SETTINGS = ("*.json", "*.txt", "*.model")


def find_model(name: str, file: str | None = None) -> Path:
    """A folder as it is; anything else is the name of a model on the hub, whose ONNX files are fetched if asked for."""
    folder = Path(name)
    if folder.is_dir():
        return folder
    if folder.is_absolute() or name.startswith(".") or name.count("/") != 1:
        raise InputError(f"{name}: no such model folder")
    hub = needed("huggingface_hub", "onnx")
    try:
        return Path(hub.snapshot_download(name, ignore_patterns=[*_UNREAD, *([] if file else ["*.onnx"])]))
    except Exception as error:  # many kinds of network and hub errors
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"model '{name}': neither a folder nor to be had from the hub ({reason})") from None


def read_json(path: Path) -> dict[str, Any]:
    """A settings file; empty when there is none."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{path}: not readable as JSON") from None
    return found if isinstance(found, dict) else {}


def longest_text(folder: Path, asked: int | None) -> int:
    """How many tokens the model takes: as asked, or what its own files say."""
    config = read_json(folder / "config.json")
    positions = config.get("max_position_embeddings")
    if positions and config.get("model_type") in ("roberta", "xlm-roberta", "mpnet"):
        positions -= 2  # these count positions from the padding token on
    if asked is not None:
        if asked < 8 or (positions and asked > positions):
            raise InputError(f"max_length = {asked}: {folder.name} takes between 8 and {positions or 'so many'} tokens")
        return asked
    own = (
        read_json(folder / "sentence_bert_config.json").get("max_seq_length"),
        (read_json(folder / "tokenizer.json").get("truncation") or {}).get("max_length"),
        read_json(folder / "tokenizer_config.json").get("model_max_length"),
    )
    return min([int(each) for each in (*own, positions) if each and int(each) < 1_000_000] or [_LONGEST])


def fingerprint(folder: Path, graph: Path | None = None, tokenizer: Path | None = None) -> str:
    """A hash over weights and settings, of an ONNX graph or of everything in the folder; its place is not in it."""
    weights = _found(folder, _WEIGHTS) if graph is None else [graph, *_beside(graph)]
    if not weights:
        raise InputError(f"{folder}: no weights; a model folder holds model.onnx or model.safetensors")
    elsewhere = [] if tokenizer in (None, folder) else _found(tokenizer, _SETTINGS)
    total = hashlib.blake2b(digest_size=16)
    for path in (*weights, *_found(folder, _SETTINGS), *elsewhere):
        with path.open("rb") as file:
            total.update(path.name.encode() + hashlib.file_digest(file, "blake2b").digest())
    return total.hexdigest()


def _beside(graph: Path) -> list[Path]:
    """Files that a large graph keeps its tensors in: those whose names it holds."""
    with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        others = (path for path in graph.parent.iterdir() if path.is_file() and path != graph)
        return sorted(path for path in others if content.find(path.name.encode()) >= 0)


def _found(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    return sorted(path for pattern in patterns for path in folder.rglob(pattern))
