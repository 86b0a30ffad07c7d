"""Who plays: the model that a configuration names, and how its replies are sampled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from envs.errors import GameError
from envs.registry import find_dialogue
from selfplay.checkpoint.models import check_foreign, is_model, read_model
from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.errors import ConfigError
from selfplay.policy.language.model import LanguageModel, load_model
from selfplay.policy.language.sampling import Sampling
from selfplay.trainer.dialogue.config import TINY
from selfplay.trainer.dialogue.start import Recipe, embedded_model

if TYPE_CHECKING:
    from envs.dialogue.contract import DialogueEntry
    from selfplay.trainer.dialogue.config import LanguageConfig

EMBEDDED_REPLY: Final = 24  # tokens of a reply of the embedded model
REPLY: Final = 512  # of others


def game_of(config: LanguageConfig) -> tuple[DialogueEntry, Any]:
    """The game, and its rules.

    Raises:
        ConfigError: they cannot be played, or what they need is not installed.
    """
    try:
        entry = find_dialogue(config.game.type)
        return entry, entry.configure(is_embedded(config), config.game.settings)
    except GameError as error:
        raise ConfigError(str(error)) from error


def sampling_of(config: LanguageConfig) -> Sampling:
    """How replies are sampled."""
    usual = EMBEDDED_REPLY if is_embedded(config) else REPLY
    return Sampling(config.sampling.temperature, config.sampling.top_p, config.sampling.max_new_tokens or usual)


def open_model(
    config: LanguageConfig, device: str, threads: int, tell: Callable[[str], object], root: Path = CHECKPOINTS
) -> tuple[LanguageModel, str]:
    """The model to begin with, and its name or folder; the embedded one is made where it is not there. Blocks.

    Raises:
        ConfigError: there is no such model, or not one that can play.
        CheckpointError: its folder is damaged.
    """
    if config.embedded:
        entry, rules = game_of(config)
        recipe = Recipe(config.game.type, rules, config.start, config.run.seed, max_new_tokens=EMBEDDED_REPLY)
        model, folder = embedded_model(entry, recipe, root, threads, tell)
        model.module.to(device)
        return model, str(folder)
    path = Path(config.model.name)
    if path.is_dir():
        if is_model(path):
            read_model(path)
        else:
            check_foreign(path)
    elif path.exists() or config.model.name.startswith((".", "/", "~")):
        raise ConfigError(f"--model {config.model.name}: no such folder")
    dtype = torch.bfloat16 if device != "cpu" else torch.float32
    return load_model(config.model.name, device, dtype), config.model.name


def is_embedded(config: LanguageConfig) -> bool:
    """Whether the model is the embedded one, or a folder of it that was saved by a run."""
    path = Path(config.model.name)
    return config.embedded or (path.is_dir() and is_model(path) and read_model(path).base == TINY)
