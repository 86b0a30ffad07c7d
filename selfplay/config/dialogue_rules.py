"""Rules of the settings of dialogue games."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from envs.errors import GameError
from envs.registry import find_dialogue
from selfplay.checkpoint.models import is_model, read_model_meta
from selfplay.config.dialogue import TINY
from selfplay.errors import ConfigError, boundary

if TYPE_CHECKING:
    from envs.dialogue.contract import DialogueEntry
    from selfplay.config.dialogue import DialogueConfig


def game_of(config: DialogueConfig) -> tuple[DialogueEntry, Any]:
    """The game, and its rules.

    Raises:
        ConfigError: they cannot be played, or what they need is not installed.
    """
    try:
        entry = find_dialogue(config.game.type)
        return entry, entry.configure(is_embedded(config), config.game.settings)
    except GameError as error:
        raise ConfigError(str(error)) from error


def is_embedded(config: DialogueConfig) -> bool:
    """Whether the model is the embedded one, or a folder of it that was saved by a run."""
    path = Path(config.model.name)
    with boundary(ConfigError, f"--model {config.model.name[:200]}"):  # a name that no folder can have
        there = path.is_dir()
    return config.embedded or (there and is_model(path) and read_model_meta(path).base == TINY)


def with_embedded_folder(config: DialogueConfig, newest: Path) -> DialogueConfig:
    """The settings of a resumed run whose embedded model's folder is gone, with its newest generation instead.

    Rules and rates have other defaults for an embedded model, and must not change within a run.
    """
    if is_embedded(config) or read_model_meta(newest).base != TINY:
        return config
    return config.model_copy(update={"model": config.model.model_copy(update={"name": str(newest)})})
