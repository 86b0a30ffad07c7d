"""Frozen language models: folders that other programs can load, with an additional ``selfplay.json``.

The model's library writes weights, configuration and tokenizer. The folder is written atomically and verified like all
others, see ``store``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pydantic import AwareDatetime, BaseModel, JsonValue

from selfplay.checkpoint.documents import Count, Name, encode_meta
from selfplay.checkpoint.store import MANIFEST, fill_folder, open_folder, write_file

MODEL_FILE: Final = "selfplay.json"
WEIGHTS: Final = ".safetensors"


class ModelMeta(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Content of ``selfplay.json``: position in training, and the game."""

    id: Name
    parent: Name | None = None
    iteration: Count = 0
    total_steps: Count = 0  # turns
    game: Name
    rules: dict[str, JsonValue]
    base: str  # model at the start of training
    created: AwareDatetime
    config: dict[str, JsonValue] = {}


def save_model(path: Path, meta: ModelMeta, write: Callable[[Path], object], replace: bool = False) -> Path:
    """Write a model folder; ``write`` is called with a folder for the model's own files."""

    def fill(folder: Path) -> None:
        write(folder)
        place = folder / MODEL_FILE
        write_file(place, encode_meta(meta, place))

    return fill_folder(path, fill, replace)


def read_model(path: Path) -> ModelMeta:
    """Metadata of a model folder after verifying all files; CheckpointError for another folder or a damaged file."""
    open_folder(path).verify()
    return read_model_meta(path)


def read_model_meta(path: Path) -> ModelMeta:
    """As ``read_model``, but the weights are not verified."""
    return open_folder(path).document(MODEL_FILE, ModelMeta)


def weights_of(path: Path) -> str:
    """Hash of the weights of a model folder, computed from its manifest; CheckpointError for another folder."""
    files = open_folder(path).manifest.files
    digests = "".join(f"{name} {entry.sha256}\n" for name, entry in sorted(files.items()) if name.endswith(WEIGHTS))
    return hashlib.sha256(digests.encode()).hexdigest()


def is_model(path: Path) -> bool:
    return (path / MODEL_FILE).is_file() and (path / MANIFEST).is_file()
