"""Loads models from folders and from the Hugging Face hub: only safetensors, and no remote code."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from tqdm import tqdm
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from selfplay.checkpoint.hub import local
from selfplay.dialogue.language.attention import NAME
from selfplay.dialogue.language.folders import ADAPTER, base_name, check_folder, check_size
from selfplay.dialogue.language.model import LanguageModel
from selfplay.errors import ConfigError, boundary

if TYPE_CHECKING:
    from selfplay.dialogue.language.chat import Rows

_LOG: Any = logging
_LOG.disable_progress_bar()  # runs have their own reports
tqdm.monitor_interval = 0  # no monitor thread
os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")  # otherwise a thread queries the hub

_WANTED: Final = ("*.json", "*.safetensors", "*.jinja", "tokenizer*", "*.model", "*.txt")


@dataclass(frozen=True, slots=True)
class Lora:
    """A low-rank adapter that is trained instead of the model (Hu et al. 2021, https://arxiv.org/abs/2106.09685)."""

    rank: int
    alpha: int
    targets: str = "all-linear"  # or names of modules, separated by commas


def load_model(
    where: str,
    device: str = "cpu",
    *,
    rows: Rows = "conversation",
    lora: Lora | None = None,
    bf16: bool = False,
    plays: bool = True,
) -> LanguageModel:
    """Load a model by name or folder, or an adapter with its base model; see ``LanguageModel``.

    Trained parameters are float32. With an adapter, the others are bfloat16, except on the CPU. An adapter in the
    folder takes precedence over a new one, ``lora``.

    Raises:
        ConfigError: the model does not exist, cannot be loaded or is not supported.
    """
    folder = find(where)
    adapted = (folder / ADAPTER).is_file()
    base = base_of(folder) if adapted else folder
    light = device != "cpu" and (adapted or lora is not None)
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(
            folder if (folder / "tokenizer_config.json").is_file() else base, local_files_only=True,
            trust_remote_code=False,
        )  # fmt: skip
        tokenizer.name_or_path = where
        config = AutoConfig.from_pretrained(base, local_files_only=True, trust_remote_code=False)
        opener: Any = AutoModelForCausalLM
        check_size(config, base, where)
        module, info = opener.from_pretrained(
            base, config=config, local_files_only=True, trust_remote_code=False, use_safetensors=True,
            attn_implementation=NAME, dtype=torch.bfloat16 if light else torch.float32, output_loading_info=True,
        )  # fmt: skip
        if info["missing_keys"]:
            raise ValueError(f"its weights lack {sorted(info['missing_keys'])[0]}")
        module.name_or_path = str(base.resolve()) if Path(where).is_dir() else where  # saved with adapters
        adapter = _adapter(module, folder if adapted else None, lora)
    except ConfigError:
        raise
    except Exception as error:  # of library code on untrusted files
        raise ConfigError(f"model {where}: cannot be loaded: {_line(error)}") from error
    module.to(device).eval()
    return LanguageModel(module, tokenizer, rows, adapter, bf16=bf16, plays=plays)


def open_tokenizer(where: str) -> Any:  # noqa: ANN401
    """The tokenizer of a model by name or folder; errors as of ``load_model``."""
    folder = find(where)
    with boundary(ConfigError, f"tokenizer of {where}"):
        opener: Any = AutoTokenizer
        return opener.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def find(where: str) -> Path:
    """The folder of a model, downloaded if necessary.

    Raises:
        ConfigError: the model does not exist, cannot be downloaded or has no safetensors.
    """
    with boundary(ConfigError, f"model {where[:200]}"):  # names that are invalid as a path
        path = local(where).expanduser()
        there = path.is_dir()
    if there:
        check_folder(path, where)
        return path
    if path.exists() or where.startswith((".", "/", "~")) or where.count("/") > 1:
        raise ConfigError(f"model {where}: no such folder")
    path = _fetched(where)
    check_folder(path, where)
    return path


def _fetched(name: str) -> Path:
    from huggingface_hub import errors, snapshot_download

    causes = {
        errors.GatedRepoError: f"gated: accept its terms at huggingface.co/{name}, then log in with `hf auth login`",
        errors.RepositoryNotFoundError: "neither a local folder nor a public model at huggingface.co",
        errors.HFValidationError: "neither a local folder nor a valid name of a model",
        errors.LocalEntryNotFoundError: "no local folder, not downloaded before, and huggingface.co cannot be reached; "
        "name a folder, or download it where there is a network",
    }  # subclasses first
    try:
        return Path(snapshot_download(name, allow_patterns=list(_WANTED)))
    except Exception as error:
        found = (why for kind, why in causes.items() if isinstance(error, kind))
        raise ConfigError(f"model {name}: {next(found, f'cannot be downloaded: {_line(error)}')}") from error


def base_of(folder: Path) -> Path:
    """The folder of the model that the adapter in a folder belongs to."""
    base = base_name(folder)
    found = find(base)
    if (found / ADAPTER).is_file():
        raise ConfigError(f"{folder / ADAPTER}: the adapter belongs to {base}, which is an adapter itself")
    return found


def _adapter(module: Any, folder: Path | None, lora: Lora | None) -> Any:  # noqa: ANN401
    """The PEFT model with the adapter of a folder, or a new one; None without either."""
    if folder is not None:
        from peft import PeftModel

        return PeftModel.from_pretrained(module, str(folder), is_trainable=True, local_files_only=True)
    return None if lora is None else lora_model(module, lora)


def lora_model(module: Any, lora: Lora) -> Any:  # noqa: ANN401
    """The PEFT model of a module with a new adapter."""
    from peft import LoraConfig, get_peft_model

    targets = lora.targets if lora.targets == "all-linear" else lora.targets.split(",")
    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, target_modules=targets, lora_dropout=0.0, task_type="CAUSAL_LM"
    )
    return get_peft_model(module, config)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
