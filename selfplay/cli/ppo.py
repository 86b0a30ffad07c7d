"""The command line of ``selfplay train``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from selfplay.cli import flags
from selfplay.cli.flags import CommandLine
from selfplay.cli.game_type import game_of_line, named_game
from selfplay.config.game_settings import game_settings
from selfplay.config.ppo import Config, options_of
from selfplay.config.programs import check_game, games_with, invoke_ppo, ppo_program
from selfplay.games.plugins import is_known
from selfplay.games.registry import DEFAULT, find_game, games_called, games_of, known_games
from selfplay.league.modes import MODES
from selfplay.run.trainings import flags_elsewhere

if TYPE_CHECKING:
    from selfplay.config.program import Invocation

EPILOG: Final = """{modes}
{lines}
examples:
  selfplay train --resume --timesteps 20M
  selfplay train --game-type my_game:MyGame --help  # the flags of another game
"""


def command_line(game: str) -> CommandLine[Config]:
    """The command line for a game, with the flags that it brings."""
    return CommandLine(
        program=ppo_program(game),
        invoke=partial(invoke_ppo, game=game),
        description="Train a policy by self-play.",
        epilog=_epilog(game),
        words={name: f"--game-type {name}" for name in known_games()},
        elsewhere=partial(_elsewhere, game),
    )


def parse(arguments: Sequence[str]) -> Invocation[Config]:
    """The configuration that the arguments ask for; errors as of ``flags.parse``."""
    if (given := named_game(arguments)) is not None:
        check_game(given)
    name = given or game_of_line(arguments)
    return flags.parse(command_line(name if name is not None and is_known(name) else DEFAULT), arguments)


def _epilog(game: str) -> str:
    kind, last = find_game(game), max(MODES)
    games = f"games: {', '.join(known_games())}" if game == DEFAULT else ""
    modes = f"modes: {', '.join(sorted(MODES)[:-1])},\n  {last}"
    preset = "" if kind.preset is None else f"Without settings of a preset: {kind.preset}"
    return EPILOG.format(modes=modes, lines="\n".join(filter(None, (game_settings(game).help, preset, games))))


def _elsewhere(game: str) -> dict[str, str]:
    """Flags of other games and trainings, and other names of games, each with the end of the message about it."""
    found = flags_elsewhere("ppo")
    for other in games_of("ppo"):
        for option in options_of(other):
            if option.flag not in found:
                found[option.flag] = games_with(game, option.path) or ""
        found |= {
            alias: f"is not a flag: did you mean --game-type {' or '.join(games_called(alias))}?"
            for alias in find_game(other).aliases
        }
    return found
