"""Which trainer a command line is for: that decides which flags there are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from envs.files import MAX_TEXT_BYTES, parse_toml, read_plain
from envs.registry import DIALOGUE
from selfplay.checkpoint import RunDir, resolve_run
from selfplay.errors import SelfPlayError


def is_dialogue(arguments: Sequence[str]) -> bool:
    """Return True if a command line is for dialogue games."""
    return named_game(arguments) in DIALOGUE


def named_game(arguments: Sequence[str]) -> str | None:
    """The game that a command line names, or that of the run that it resumes.

    Invalid arguments raise nothing here; the parser reports them.
    """
    named = _values(arguments, "--game-type")
    named += [text.partition("=")[2] for text in _values(arguments, "--set") if text.startswith("game.type=")]
    if named:
        return named[-1]
    for file in _values(arguments, "--config"):
        with suppress(OSError, ValueError):
            game = _type_in(parse_toml(read_plain(Path(file), MAX_TEXT_BYTES, follow=True)))
            if game is not None:
                return game
    if "--resume" in arguments:
        folders = _values(arguments, "--checkpoint")
        with suppress(SelfPlayError):
            return game_of_run(resolve_run(Path(folders[-1]) if folders else None))
    return None


def is_dialogue_run(run: RunDir) -> bool:
    return game_of_run(run) in DIALOGUE


def game_of_run(run: RunDir) -> str:
    """Name of the game that a run was started with; the mock if none is recorded."""
    return _type_in(run.read_run().get("config")) or "mock"


def _type_in(document: object) -> str | None:
    """The game that a configuration names; None where it names none, or is no configuration."""
    match document:
        case {"game": {"type": str(name)}}:
            return name
    return None


def _values(arguments: Sequence[str], flag: str) -> list[str]:
    """Values given to a flag, as `--flag value` or `--flag=value`."""
    found = [text.partition("=")[2] for text in arguments if text.startswith(f"{flag}=")]
    return found + [after for before, after in pairwise(arguments) if before == flag]
