"""Defaults and checks that depend on the model or the game of a dialogue run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint.hub import local
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.models import is_model, read_model_meta
from selfplay.dialogue.settings import TINY
from selfplay.errors import ConfigError, boundary
from selfplay.games.errors import GameError

if TYPE_CHECKING:
    from selfplay.dialogue.contract import DialogueEntry
    from selfplay.dialogue.settings import DialogueConfig


def game_of(config: DialogueConfig) -> tuple[DialogueEntry, Any]:
    """The game and its rules; ConfigError for invalid rules or a missing package."""
    try:
        entry = find_dialogue(config.game.type)
        return entry, entry.configure(is_embedded(config), config.game.settings)
    except GameError as error:
        raise ConfigError(str(error)) from error


def is_embedded(config: DialogueConfig) -> bool:
    """Return True if the model is the embedded one, or a folder in which a run saved it."""
    path = local(config.model.name)
    with boundary(ConfigError, f"--model {config.model.name[:200]}"):  # names that are invalid as a path
        there = path.is_dir()
    return config.embedded or (there and is_model(path) and read_model_meta(path).base == TINY)


def default_rate_and_kl(embedded: bool) -> tuple[float, float]:
    """Default learning rate and KL coefficient; a pretrained language model should keep its language."""
    return (1e-4, 0.0) if embedded else (1e-6, 0.001)


def with_embedded_folder(config: DialogueConfig, newest: Path) -> DialogueConfig:
    """The settings of a resumed run, with the newest generation if the folder of its embedded model is missing.

    Defaults of rules and rates depend on whether the model is embedded, and must not change within a run.
    """
    if is_embedded(config) or read_model_meta(newest).base != TINY:
        return config
    return config.model_copy(update={"model": config.model.model_copy(update={"name": str(newest)})})
