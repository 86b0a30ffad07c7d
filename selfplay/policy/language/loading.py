"""Opens models from folders and from the Hugging Face hub: safetensors alone, never code of others.

A name that is no folder is asked for at the hub once, and what comes is opened like any other folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from tqdm import tqdm
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from selfplay.errors import ConfigError, boundary
from selfplay.policy.language.attention import NAME
from selfplay.policy.language.folders import ADAPTER, base_name, check_folder, check_size
from selfplay.policy.language.model import LanguageModel

if TYPE_CHECKING:
    from selfplay.policy.language.chat import Rows

_LOG: Any = logging
_LOG.disable_progress_bar()  # a run has a report of its own
tqdm.monitor_interval = 0  # no thread that watches over such bars
os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")  # else a thread asks the hub for what is not there

_WANTED: Final = ("*.json", "*.safetensors", "*.jinja", "tokenizer*", "*.model", "*.txt")


@dataclass(frozen=True, slots=True)
class Lora:
    """A low-rank adapter that is trained in the model's place (Hu et al. 2021, https://arxiv.org/abs/2106.09685)."""

    rank: int
    alpha: int
    targets: str = "all-linear"  # or names of modules, with commas between them


def load_model(
    where: str,
    device: str = "cpu",
    *,
    rows: Rows = "conversation",
    lora: Lora | None = None,
    bf16: bool = False,
) -> LanguageModel:
    """A model by name or folder, or an adapter with the model that it belongs to.

    Parameters that train are float32. Where an adapter trains in their place, the others are bfloat16, except on the
    CPU.

    Args:
        where: Name at the hub, or folder.
        device: Where it shall be.
        rows: What the learner gets of a conversation.
        lora: A fresh adapter; one that the folder has goes on.
        bf16: Forward passes in bfloat16.

    Raises:
        ConfigError: there is none, it is not to be had, or it is not one that can play.
    """
    folder = find(where)
    adapted = (folder / ADAPTER).is_file()
    base = _base_of(folder) if adapted else folder
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
        module, told = opener.from_pretrained(
            base, config=config, local_files_only=True, trust_remote_code=False, use_safetensors=True,
            attn_implementation=NAME, dtype=torch.bfloat16 if light else torch.float32, output_loading_info=True,
        )  # fmt: skip
        if told["missing_keys"]:
            raise ValueError(f"its weights lack {sorted(told['missing_keys'])[0]}")
        module.name_or_path = str(base.resolve()) if Path(where).is_dir() else where  # adapters are saved with it
        adapter = _adapted(module, folder) if adapted else _adapter(module, lora) if lora else None
    except ConfigError:
        raise
    except Exception as error:  # their code, on files of others
        raise ConfigError(f"model {where}: cannot be loaded: {_line(error)}") from error
    module.to(device).eval()
    return LanguageModel(module, tokenizer, rows, adapter, bf16=bf16)


def open_tokenizer(where: str) -> Any:  # noqa: ANN401
    """The tokenizer of a model by name or folder.

    Raises:
        ConfigError: as of ``load_model``.
    """
    folder = find(where)
    with boundary(ConfigError, f"tokenizer of {where}"):
        opener: Any = AutoTokenizer
        return opener.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def find(where: str) -> Path:
    """The folder of a model, fetched where it is not on this machine.

    Raises:
        ConfigError: there is none, it is not to be had, or its weights are no safetensors.
    """
    with boundary(ConfigError, f"model {where[:200]}"):  # a name that no folder can have
        path = Path(where).expanduser()
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
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HFValidationError, LocalEntryNotFoundError
    from huggingface_hub.errors import RepositoryNotFoundError as NoSuchRepo

    try:
        return Path(snapshot_download(name, allow_patterns=list(_WANTED)))
    except GatedRepoError as error:
        raise ConfigError(
            f"model {name}: it is gated: accept its terms at huggingface.co/{name}, then log in with `hf auth login`"
        ) from error
    except NoSuchRepo as error:
        raise ConfigError(f"model {name}: neither a folder here nor a public model at huggingface.co") from error
    except HFValidationError as error:
        raise ConfigError(f"model {name}: neither a folder here nor a name that a model can have") from error
    except LocalEntryNotFoundError as error:
        raise ConfigError(
            f"model {name}: no folder here, not fetched before, and huggingface.co cannot be reached; "
            "name a folder, or fetch it where there is a network"
        ) from error
    except Exception as error:  # whatever else a network does
        raise ConfigError(f"model {name}: cannot be fetched: {_line(error)}") from error


def _base_of(folder: Path) -> Path:
    """Where the model of an adapter is."""
    base = base_name(folder)
    found = find(base)
    if (found / ADAPTER).is_file():
        raise ConfigError(f"{folder / ADAPTER}: the adapter belongs to {base}, which is an adapter itself")
    return found


def _adapted(module: Any, folder: Path) -> Any:  # noqa: ANN401
    from peft import PeftModel

    return PeftModel.from_pretrained(module, str(folder), is_trainable=True, local_files_only=True)


def _adapter(module: Any, lora: Lora) -> Any:  # noqa: ANN401
    from peft import LoraConfig, get_peft_model

    targets = lora.targets if lora.targets == "all-linear" else lora.targets.split(",")
    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, target_modules=targets, lora_dropout=0.0, task_type="CAUSAL_LM"
    )  # fmt: skip
    return get_peft_model(module, config)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
