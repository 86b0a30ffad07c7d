"""Which trainer a command line is for: that decides which flags there are."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from selfplay.checkpoint import RunDir, resolve_run, shipped_policies
from selfplay.checkpoint.generations import POLICY_FILE
from selfplay.checkpoint.run_dir import RUN_FILE, named_run
from selfplay.config.resume import game_of_run
from selfplay.errors import SelfPlayError
from selfplay.evaluation.named_players import game_in
from selfplay.games.errors import GameError
from selfplay.games.files import MAX_TEXT_BYTES, parse_toml, read_plain
from selfplay.games.kind import GameKind
from selfplay.games.plugins import allow, is_known
from selfplay.games.registry import DEFAULT, find_game, find_kind, games_of


def training_of(game: str | None) -> str:
    """Name of the training of a game; of one that does not exist, the usual one."""
    return find_kind(game).training if game is not None and is_known(game) else "ppo"


def of_run(checkpoint: Path | None) -> str | None:
    """The game of the run in a folder, by default of the newest."""
    return game_of_run(resolve_run(checkpoint))


def game_resumed(arguments: Sequence[str], find: Callable[[Path | None], str | None] = of_run) -> str | None:
    """The game of the run that a command line resumes; ``find`` returns it for ``--checkpoint``."""
    given = _given(arguments)
    folder = _value(given, given.checkpoint, "run.checkpoint")
    return find(Path(folder) if folder else None) if given.resume else None


def game_played(arguments: Sequence[str]) -> str | None:
    """The game of the first argument that is a run or policy, or of the newest run."""
    shipped = shipped_policies()
    return _first(arguments, lambda word: game_in(shipped.get(word or "") or named_run(word, (RUN_FILE, POLICY_FILE))))


def game_rated(arguments: Sequence[str]) -> str | None:
    """The game of the first argument that is a run, or of the newest run."""
    return _first(arguments, lambda word: game_of_run(RunDir(named_run(word))))


def _first(arguments: Sequence[str], find: Callable[[str | None], str]) -> str | None:
    """What is found for the first argument for which something is, or else for None."""
    for word in (*(word for word in arguments if not word.startswith("-")), None):
        with suppress(SelfPlayError, GameError, OSError):
            return find(word)
    return None


def game_of_line(
    arguments: Sequence[str],
    otherwise: Callable[[Sequence[str]], str | None] = game_resumed,
    setting: str = "game.type",
) -> str | None:
    """The game that a command line is for; one that it names may be imported from here on.

    Invalid arguments raise nothing here; the parser reports them.

    Args:
        arguments: Of the command line.
        otherwise: Returns the game where the user names none; its errors mean that there is none.
        setting: Name of the setting that is the game.
    """
    if (game := named_game(arguments, setting)) is not None:
        allow(game)
        return game
    with suppress(SelfPlayError, GameError, OSError):
        return otherwise(arguments)
    return None


def named_game(arguments: Sequence[str], setting: str = "game.type") -> str | None:
    """The game that the user names, with a flag or in a file of settings."""
    given = _given(arguments)
    return _value(given, given.game_type, setting)


def _value(given: argparse.Namespace, flag: str | None, setting: str) -> str | None:
    """The text that the user gives a setting: by its flag, with ``--set``, or in a file of settings."""
    sets = [text.partition("=")[2] for text in given.set if (text or "").startswith(f"{setting}=")]
    if flag or sets:
        return str(flag or sets[-1])
    if given.config:
        with suppress(OSError, ValueError):
            document = parse_toml(read_plain(Path(given.config), MAX_TEXT_BYTES, follow=True))
            group, _, name = setting.partition(".")
            part = document.get(group)
            value = part.get(name) if isinstance(part, dict) else None
            return value if isinstance(value, str) else None
    return None


def _given(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for flag in ("--game-type", "--config", "--checkpoint"):
        parser.add_argument(flag, nargs="?")
    parser.add_argument("--set", nargs="?", action="append", default=[])
    parser.add_argument("--resume", nargs="?", const=True)
    return parser.parse_known_args(arguments)[0]


def run_for_game(
    verb: str, usual: Callable[[], int], otherwise: Callable[[Sequence[str]], str | None] = lambda _: None
) -> int:
    """Run a verb as the game of the command line does, or else as ``usual`` does; the exit code.

    Args:
        verb: Of ``GameKind.verbs``, where a game has a module of its own for it.
        usual: Runs the verb for all other games, and reports a game that cannot be used.
        otherwise: See ``game_of_line``.
    """
    module = None
    with suppress(GameError):
        kind = find_kind(game_of_line(sys.argv[1:], otherwise) or DEFAULT)
        module = kind.verbs.get(verb) if isinstance(kind, GameKind) else None
    return usual() if module is None else int(import_module(module).main())


def modules_of(verb: str) -> dict[str, str]:
    """The modules that run a verb for some of this project's games, by game."""
    kinds = {name: find_game(name) for name in games_of("ppo")}
    return {name: kind.verbs[verb] for name, kind in kinds.items() if verb in kind.verbs}
