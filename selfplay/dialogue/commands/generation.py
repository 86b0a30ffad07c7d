"""A generation of a run of a text game, as a person names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from selfplay.checkpoint import RunDir, list_generations
from selfplay.config.resume import started_with
from selfplay.dialogue.settings import DialogueConfig
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class NamedGeneration:
    """A generation, and the run that it is of."""

    run: RunDir
    config: DialogueConfig
    name: str
    names: tuple[str, ...]  # all of the run


def generation_in(folder: Path) -> NamedGeneration:
    """The generation in a folder, or the newest of a run. ConfigError if there is none."""
    named = folder.parent.name == "generations"
    run = RunDir(folder.parents[1] if named else folder)
    names = tuple(generation.id for generation in list_generations(run))
    name = folder.name if named else (names or ("",))[-1]
    if name not in names:
        raise ConfigError(f"{folder} holds no generation of a run")
    return NamedGeneration(run, started_with(run, DialogueConfig), name, names)
