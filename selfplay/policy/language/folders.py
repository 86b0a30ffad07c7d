"""What a model's folder must be before a library is let at it: safetensors, plain files, and no size out of nothing.

The libraries that read such folders check less: they take pickles where there is nothing else, import modules that an
adapter names, build whatever size a configuration says, and wait for a pipe.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Callable
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
_NAMES_PARTS: Final = ("layer", "expert", "block")  # numbers of them are in such fields
_NAMES_WIDTHS: Final = ("size", "dim", "width", "length", "window")  # but not in those of them
_REFUSED: Final = {  # of an adapter
    "auto_mapping": "would import modules that the file names",
    "megatron_config": "would import modules that the file names",
    "layer_replication": "would make layers that the model has not",
    "monteclora_config": "would make buffers of a size that the file names",
    "layers_pattern": "is a regular expression, which may take forever",
}
_PLAIN: Final = re.compile(r"[\w.]+")  # PEFT takes names as regular expressions; these can only be quick ones
_STARTS: Final = (True, False, "gaussian")  # others change the model, or count its singular values
_SPARE: Final = 2**20  # parameters that a model may have beyond twice those of its files, which may leave out tied ones


def check_folder(folder: Path, where: str) -> None:
    """Refuse a model's folder, or an adapter's, that would have to be trusted.

    Raises:
        ConfigError: weights in a format that can run code and no others, none at all, a file that is none, or a
            configuration that names code or sizes beyond all models.
    """
    for file in sorted(folder.iterdir()):
        if not file.exists() and file.suffix not in (".json", ".safetensors"):
            continue  # a link to what was pruned, and what nothing here opens
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
    with torch.device("meta"):  # the file's own attention may be one to fetch
        module = opener.from_config(config, attn_implementation="eager")
    wanted = sum(parameter.numel() for parameter in module.parameters())
    if wanted > 2 * stored + _SPARE:
        raise ConfigError(f"model {where}: {CONFIG} is of {wanted} parameters, but the weights are {stored}")


def _check_adapter(place: Path) -> None:
    found = _document(place)
    if found.get("peft_type") != "LORA":
        raise ConfigError(f"{place}: peft_type is {_short(found.get('peft_type'))}; valid: 'LORA'")
    for name, why in _REFUSED.items():
        if found.get(name):
            raise ConfigError(f"{place}: {name} {why}; leave it out")
    if not _is_rank(found.get("r", 1)):
        raise ConfigError(f"{place}: r is {_short(found['r'])}; valid: 1 to {MAX_RANK}")
    for name, is_valid in (("rank_pattern", _is_rank), ("alpha_pattern", _is_alpha)):
        if not _is_pattern(found.get(name) or {}, is_valid):
            raise ConfigError(
                f"{place}: {name} is {_short(found[name])}; valid: names of modules, 1 to {MAX_RANK} each"
            )
    for name in ("target_modules", "exclude_modules", "modules_to_save"):
        if not _are_names(found.get(name)):
            raise ConfigError(
                f"{place}: {name} is {_short(found[name])}; valid: a list of names of modules, or 'all-linear'; "
                "write a list where it is a regular expression"
            )
    start = found.get("init_lora_weights", True)
    if start not in _STARTS or type(start) not in (bool, str):
        raise ConfigError(f"{place}: init_lora_weights is {_short(start)}; valid: true, false, 'gaussian'")


def _is_rank(value: object) -> bool:
    return type(value) is int and 1 <= value <= MAX_RANK


def _is_alpha(value: object) -> bool:
    return type(value) in (int, float) and 1 <= value <= MAX_RANK  # type: ignore[operator]


def _is_pattern(value: object, is_valid: Callable[[object], bool]) -> bool:
    """Whether it is an object of plain names and numbers."""
    return isinstance(value, dict) and _are_names(list(value)) and all(map(is_valid, value.values()))


def _are_names(value: object) -> bool:
    """Whether PEFT can look for such modules without an expression of the file's making."""
    if not isinstance(value, list):
        return value in (None, "all-linear")
    return len(value) <= _PARTS and all(isinstance(name, str) and _PLAIN.fullmatch(name) for name in value)


def _check_counts(document: dict[str, Any], where: str) -> None:
    """Numbers of parts, here and in nested groups and lists: each part is built, however little it weighs."""
    left: list[tuple[str, Any]] = list(document.items())
    while left:
        name, value = left.pop()
        if isinstance(value, dict):
            left += value.items()
        elif name == "attention_types" and isinstance(value, list):
            if not _is_attention(value):
                raise ConfigError(f"model {where}: {CONFIG}: {name} is {_short(value)}, at most {_PARTS} are built")
        elif isinstance(value, list):
            left += ((name, element) for element in value)
        elif type(value) is int and value > _PARTS and _counts_parts(name):
            raise ConfigError(f"model {where}: {CONFIG}: {name} is {_short(value)}, at most {_PARTS} are built")


def _counts_parts(name: str) -> bool:
    return any(part in name for part in _NAMES_PARTS) and not any(part in name for part in _NAMES_WIDTHS)


def _is_attention(value: list[Any]) -> bool:
    """Whether GPT-Neo, which has [[kinds, times], ..] and spells them out, makes no more of it than it may have."""
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return False
    if not all(isinstance(kinds, list) and kinds and type(times) is int and times >= 0 for kinds, times in value):
        return False
    return bool(sum(len(kinds) * times for kinds, times in value) <= _PARTS)


def _short(value: object) -> str:
    return printable(reprlib.repr(value))


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
