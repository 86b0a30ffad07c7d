"""Checks of a model folder before libraries read it: safetensors, regular files, and plausible sizes.

The libraries check less: they load pickles if there is nothing else, import modules that an adapter names, build any
size that a configuration says, and block on a pipe.
"""

from __future__ import annotations

import json
import math
import reprlib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import torch
from pydantic import BaseModel, Field, ValidationError
from safetensors import safe_open
from transformers import AutoModelForCausalLM

from selfplay.errors import ConfigError
from selfplay.files import opened, read_file
from selfplay.games.files import MAX_TEXT_BYTES, printable

ADAPTER: Final = "adapter_config.json"
CONFIG: Final = "config.json"
MAX_RANK: Final = 4096
_WEIGHTS: Final = "adapter_model.safetensors"
_UNSAFE: Final = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")  # formats that can run code when read
_MAX_JSON_BYTES: Final = 2**28  # of a tokenizer; others are smaller
_PARTS: Final = 4096  # maximum number of layers, experts or heads
_NAMES_PARTS: Final = ("layer", "expert", "block")  # fields with these words are such numbers,
_NAMES_WIDTHS: Final = ("size", "dim", "width", "length", "window")  # unless they have one of these
_REFUSED: Final = {  # of an adapter
    "auto_mapping": "would import modules that the file names",
    "megatron_config": "would import modules that the file names",
    "layer_replication": "would add layers to the model",
    "monteclora_config": "would allocate buffers of any size",
    "layers_pattern": "is a regular expression, which may take forever",
}
_Name = Annotated[str, Field(pattern=r"^[\w.]+$")]  # PEFT uses names as regular expressions; these cannot be slow
_Rank = Annotated[int, Field(ge=1, le=MAX_RANK)]
_Alpha = Annotated[float, Field(ge=1, le=MAX_RANK)]
_Modules = Annotated[list[_Name], Field(max_length=_PARTS)] | Literal["all-linear"] | None
_SPARE: Final = 2**20  # parameters beyond twice those of the files, which may omit tied ones


def check_folder(folder: Path, where: str) -> None:
    """Refuse a folder of a model or an adapter that is not safe to load.

    Raises:
        ConfigError: no safetensors, a file that is not regular, or a configuration with code or implausible sizes.
    """
    for file in sorted(folder.iterdir()):
        if not file.exists() and file.suffix not in (".json", ".safetensors"):
            continue  # a broken link that nothing opens
        if not (file.is_file() or file.is_dir()):  # links are followed, since the hub's cache consists of them
            raise ConfigError(f"model {where}: {file.name} is no plain file")
        if file.suffix == ".json" and file.is_file() and file.stat().st_size > _MAX_JSON_BYTES:
            raise ConfigError(f"model {where}: {file.name} has more than {_MAX_JSON_BYTES} bytes")
        if file.suffix in (".json", ".safetensors", ".model") and file.is_file():
            with opened(file, ConfigError, follow=True):  # refuses pointers of Git LFS
                pass
    adapted = (folder / ADAPTER).is_file()
    if not any(folder.glob(_WEIGHTS if adapted else "*.safetensors")):
        unsafe = sorted(file.name for file in folder.iterdir() if file.suffix in _UNSAFE)
        if not unsafe:
            raise ConfigError(f"model {where}: no weights there (*.safetensors)")
        raise ConfigError(
            f"model {where}: {printable(unsafe[0])} is of a format that can run code when it is read, and is never "
            "read here; save the model as safetensors"
        )
    if adapted:
        _check_adapter(folder / ADAPTER)
    if (folder / CONFIG).is_file():
        _check_counts(_document(folder / CONFIG), where)


def base_name(folder: Path) -> str:
    """Name or folder of the base model of an adapter; ConfigError if the adapter does not name it."""
    base = _document(folder / ADAPTER).get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise ConfigError(f"{folder / ADAPTER}: does not say which model the adapter belongs to")
    return base


def rank_of(folder: Path) -> int:
    """Rank of the adapter in a folder that ``check_folder`` has passed."""
    return _Adapter.model_validate(_document(folder / ADAPTER)).r


def check_size(config: Any, folder: Path, where: str) -> None:  # noqa: ANN401
    """Refuse a configuration of a model far larger than its weights, before memory is allocated.

    Raises:
        ConfigError: names both numbers.
    """
    stored = 0
    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as tensors:
            stored += sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
    opener: Any = AutoModelForCausalLM
    with torch.device("meta"):  # the configured attention may need a download
        module = opener.from_config(config, attn_implementation="eager")
    wanted = sum(parameter.numel() for parameter in module.parameters())
    if wanted > 2 * stored + _SPARE:
        raise ConfigError(f"model {where}: {CONFIG} is of {wanted} parameters, but the weights are {stored}")


class _Adapter(BaseModel, strict=True):
    """The fields of an adapter's configuration that PEFT builds from."""

    peft_type: Literal["LORA"]
    r: _Rank = 1
    rank_pattern: dict[_Name, _Rank] | None = None
    alpha_pattern: dict[_Name, _Alpha] | None = None
    target_modules: _Modules = None
    exclude_modules: _Modules = None
    modules_to_save: _Modules = None
    init_lora_weights: bool | Literal["gaussian"] = True  # others change the model, or are slow to compute


def _check_adapter(place: Path) -> None:
    document = _document(place)
    for name, why in _REFUSED.items():
        if document.get(name):
            raise ConfigError(f"{place}: {name} {why}; leave it out")
    try:
        _Adapter.model_validate(document)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        name = str(problems[0]["loc"][0])
        valid = dict.fromkeys(problem["msg"][:100] for problem in problems if problem["loc"][0] == name)
        why = " or ".join(list(valid)[:2])  # one for each kind of value that the field takes
        raise ConfigError(f"{place}: {name} is {_short(document.get(name))}: {why}") from error


def _check_counts(document: dict[str, Any], where: str) -> None:
    """Refuse too many layers, experts or blocks, also in nested values: each is built, even without weights."""
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
    """Return True if GPT-Neo's [[kinds, times], ..] expands to a valid number of layers."""
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return False
    if not all(isinstance(kinds, list) and kinds and type(times) is int and times >= 0 for kinds, times in value):
        return False
    return bool(sum(len(kinds) * times for kinds, times in value) <= _PARTS)


def _short(value: object) -> str:
    return printable(reprlib.repr(value))


def _constant(name: str) -> float:
    """Such files may say Infinity."""
    if name == "NaN":
        raise ValueError("NaN is no value of a setting")
    return float(name)


def _document(place: Path) -> dict[str, Any]:
    data = read_file(place, MAX_TEXT_BYTES, ConfigError, follow=True)
    try:
        found = json.loads(data.decode(), parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place}: cannot be loaded: not JSON: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{place}: a JSON object is needed")
    return found
