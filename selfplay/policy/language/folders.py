"""What a model's folder must be before a library is let at it: safetensors, plain files, and no size out of nothing.

The libraries that read such folders check less: they take pickles where there is nothing else, import modules that an
adapter names, build whatever size a configuration says, and wait for a pipe.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM

from envs.files import MAX_TEXT_BYTES, printable
from selfplay.errors import ConfigError
from selfplay.files import read_file

ADAPTER: Final = "adapter_config.json"
CONFIG: Final = "config.json"
MAX_RANK: Final = 4096
_WEIGHTS: Final = "adapter_model.safetensors"
_HOSTILE: Final = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")  # formats that can run code when they are read
_MAX_JSON_BYTES: Final = 2**28  # of a tokenizer; others are smaller
_PARTS: Final = 4096  # layers, experts, heads of a model
_NAMES_MODULES: Final = ("auto_mapping", "megatron_config")  # of an adapter: what would be imported for it
_SPARE: Final = 2**20  # parameters that a model may have beyond twice those of its files, which may leave out tied ones


def check_folder(folder: Path, where: str) -> None:
    """Refuse a model's folder, or an adapter's, that would have to be trusted.

    Raises:
        ConfigError: weights in a format that can run code and no others, none at all, a file that is none, or a
            configuration that names code or sizes beyond all models.
    """
    for file in sorted(folder.iterdir()):
        if not (file.is_file() or file.is_dir()):  # links are followed: the hub's own folders are made of them
            raise ConfigError(f"model {where}: {file.name} is no plain file")
        if file.suffix == ".json" and file.is_file() and file.stat().st_size > _MAX_JSON_BYTES:
            raise ConfigError(f"model {where}: {file.name} has more than {_MAX_JSON_BYTES} bytes")
    adapted = (folder / ADAPTER).is_file()
    if not any(folder.glob(_WEIGHTS if adapted else "*.safetensors")):
        hostile = sorted(file.name for file in folder.iterdir() if file.suffix in _HOSTILE)
        if not hostile:
            raise ConfigError(f"model {where}: no weights there (*.safetensors)")
        raise ConfigError(
            f"model {where}: {printable(hostile[0])} is of a format that can run code when it is read, and is never "
            "read here; save the model as safetensors"
        )
    if adapted:
        _check_adapter(folder / ADAPTER)
    if (folder / CONFIG).is_file():
        _check_counts(_document(folder / CONFIG), where)


def base_name(folder: Path) -> str:
    """Name or folder of the model that an adapter belongs to.

    Raises:
        ConfigError: it does not say.
    """
    base = _document(folder / ADAPTER).get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise ConfigError(f"{folder / ADAPTER}: does not say which model the adapter belongs to")
    return base


def check_size(config: Any, folder: Path, where: str) -> None:  # noqa: ANN401
    """Refuse a configuration of a model far larger than the weights beside it, before memory is taken for it.

    Raises:
        ConfigError: names both numbers.
    """
    stored = 0
    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as tensors:
            stored += sum(_product(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
    opener: Any = AutoModelForCausalLM
    with torch.device("meta"):
        wanted = sum(parameter.numel() for parameter in opener.from_config(config).parameters())
    if wanted > 2 * stored + _SPARE:
        raise ConfigError(f"model {where}: {CONFIG} is of {wanted} parameters, but the weights are {stored}")


def _check_adapter(place: Path) -> None:
    found = _document(place)
    if found.get("peft_type") != "LORA":
        raise ConfigError(f"{place}: peft_type is {found.get('peft_type')!r}; valid: 'LORA'")
    for name in _NAMES_MODULES:
        if found.get(name):
            raise ConfigError(f"{place}: {name} would import modules that the file names; leave it out")
    rank = found.get("r", 1)
    if type(rank) is not int or not 1 <= rank <= MAX_RANK:
        raise ConfigError(f"{place}: r is {str(rank)[:40]}; valid: 1 to {MAX_RANK}")


def _check_counts(document: dict[str, Any], where: str) -> None:
    """Numbers of parts, here and in nested groups: each part is built, however little it weighs."""
    for name, value in document.items():
        if isinstance(value, dict):
            _check_counts(value, where)
        elif type(value) is int and value > _PARTS and any(part in name for part in ("layer", "expert", "block")):
            raise ConfigError(f"model {where}: {CONFIG}: {name} is {str(value)[:40]}, at most {_PARTS} are built")


def _document(place: Path) -> dict[str, Any]:
    data = read_file(place, MAX_TEXT_BYTES, ConfigError, follow=True)
    try:
        found = json.loads(data.decode())  # such files may say Infinity
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place}: cannot be loaded: not JSON: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{place}: a JSON object is needed")
    return found


def _product(shape: list[int]) -> int:
    found = 1
    for side in shape:
        found *= side
    return found
