"""Which trainer a command line is for: that decides which flags there are."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from selfplay.checkpoint import resolve_run, shipped_policies
from selfplay.checkpoint.generations import POLICY_FILE
from selfplay.checkpoint.run_dir import RUN_FILE, named_run
from selfplay.config.resume import game_of_run
from selfplay.errors import SelfPlayError
from selfplay.evaluation.named_players import game_in
from selfplay.games.errors import GameError
from selfplay.games.files import MAX_TEXT_BYTES, parse_toml, read_plain
from selfplay.games.kind import GameKind
from selfplay.games.plugins import allow, installed
from selfplay.games.registry import DEFAULT, find_game, find_kind, games_of


def training_of(game: str | None) -> str:
    """Name of the training of an installed game; all others have the usual one."""
    return find_kind(game).training if game in installed() else "ppo"


def _game_resumed(checkpoint: Path | None) -> str:
    return game_of_run(resolve_run(checkpoint))


def named_game(
    arguments: Sequence[str], setting: str = "game.type", resumed: Callable[[Path | None], str | None] = _game_resumed
) -> str | None:
    """The game that a command line names, or that of the run that it resumes.

    Invalid arguments raise nothing here; the parser reports them.

    Args:
        arguments: Of the command line.
        setting: Name of the setting that is the game.
        resumed: Returns the game of the run in ``--checkpoint``.
    """
    if (game := given_game(arguments, setting)) is not None:
        return game
    given = _given(arguments)
    if given.resume:
        with suppress(SelfPlayError):
            return resumed(Path(given.checkpoint) if given.checkpoint else None)
    return None


def given_game(arguments: Sequence[str], setting: str = "game.type") -> str | None:
    """The game that the user names, with a flag or in a file of settings."""
    given = _given(arguments)
    sets = [text.partition("=")[2] for text in given.set if (text or "").startswith(f"{setting}=")]
    if given.game_type or sets:
        return str(given.game_type or sets[-1])
    if given.config:
        with suppress(OSError, ValueError):
            document = parse_toml(read_plain(Path(given.config), MAX_TEXT_BYTES, follow=True))
            group, _, name = setting.partition(".")
            part = document.get(group)
            game = part.get(name) if isinstance(part, dict) else None
            return game if isinstance(game, str) else None
    return None


def _given(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for flag in ("--game-type", "--config", "--checkpoint"):
        parser.add_argument(flag, nargs="?")
    parser.add_argument("--set", nargs="?", action="append", default=[])
    parser.add_argument("--resume", nargs="?", const=True)
    return parser.parse_known_args(arguments)[0]


def module_of(verb: str, arguments: Sequence[str]) -> str | None:
    """The module that runs a verb for the game of these arguments; None: that of all games.

    Invalid arguments raise nothing here; the parser reports them.
    """
    if given := _given(arguments).game_type:
        allow(given)
    with suppress(GameError):
        kind = find_kind(given or _game_played(arguments))
        return kind.verbs.get(verb) if isinstance(kind, GameKind) else None
    return None


def modules_of(verb: str) -> dict[str, str]:
    """The modules that run a verb for some of this project's games, by game."""
    kinds = {name: find_game(name) for name in games_of("ppo")}
    return {name: kind.verbs[verb] for name, kind in kinds.items() if verb in kind.verbs}


def _game_played(arguments: Sequence[str]) -> str:
    """The game of the first argument that is a run or policy, or of the newest run; the usual one without any."""
    shipped = shipped_policies()
    words = [word for word in arguments if not word.startswith("-")]
    for word in (*words, None):
        with suppress(SelfPlayError):
            return game_in(shipped.get(word or "") or named_run(word, (RUN_FILE, POLICY_FILE)))
    return DEFAULT
