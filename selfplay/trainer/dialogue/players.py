"""Who plays: the model that a configuration names, and how its replies are sampled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from envs.errors import GameError
from envs.registry import find_dialogue
from selfplay.checkpoint.models import is_model, read_model
from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.errors import ConfigError
from selfplay.policy.language.loading import Lora, find, load_model
from selfplay.policy.language.sampling import Sampling
from selfplay.trainer.dialogue.start import Recipe, embedded_model

if TYPE_CHECKING:
    from envs.dialogue.contract import DialogueEntry
    from selfplay.policy.language.model import LanguageModel
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
        return entry, entry.configure(config.embedded or _is_embedded(config.model.name), config.game.settings)
    except GameError as error:
        raise ConfigError(str(error)) from error


def sampling_of(config: LanguageConfig) -> Sampling:
    """How replies are sampled."""
    usual = EMBEDDED_REPLY if config.embedded or _is_embedded(config.model.name) else REPLY
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
        _, folder = embedded_model(entry, recipe, root, threads, tell)
        where = str(folder)
    else:
        where = config.model.name
        find(where)  # a mistake costs nothing yet
    return reopen(config, where, device, fresh=True), where


def reopen(config: LanguageConfig, where: str, device: str, *, fresh: bool = False) -> LanguageModel:
    """A model of a run: what it begins with, ``fresh``, or one of its generations, which have their adapters.

    Raises:
        ConfigError: there is no such model, or not one that can play.
        CheckpointError: its folder is damaged.
    """
    path = Path(where)
    if path.is_dir() and is_model(path):
        read_model(path)
    model = config.model
    lora = Lora(model.lora_rank, model.lora_alpha, model.lora_targets) if fresh and model.lora_rank else None
    return load_model(where, device, rows=model.rows, lora=lora, bf16=model.bf16)


def _is_embedded(name: str) -> bool:
    """Whether a folder is an embedded model that was saved by a run."""
    path = Path(name)
    return path.is_dir() and is_model(path) and read_model(path).base == "tiny"
