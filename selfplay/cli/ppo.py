"""The command line of ``selfplay train``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from selfplay.cli import flags
from selfplay.cli.flags import CommandLine
from selfplay.cli.game_type import named_game
from selfplay.config.ppo import OPTIONS, Config
from selfplay.config.programs import MELEE, PPO, check_game, invoke_ppo
from selfplay.games.plugins import is_known
from selfplay.games.registry import find_game, known_games
from selfplay.league.modes import MODES
from selfplay.run.trainings import flags_elsewhere

if TYPE_CHECKING:
    from selfplay.config.program import Invocation

EPILOG: Final = f"""modes: {", ".join(sorted(MODES)[:-1])},
  {max(MODES)}; --character list and --stage list show the others of these names
Without settings of a preset: laptop with --track-elo for fights, else board
examples:
  selfplay train --resume --timesteps 20M
  selfplay train --game-type matching --help  # dialogue games
"""

COMMAND: Final = CommandLine(
    program=PPO,
    invoke=invoke_ppo,
    description="Train a policy by self-play.",
    epilog=EPILOG,
    page="docs/trainer/guide.md",
    words={name: f"--game-type {name}" for name in known_games()} | {"melee": MELEE},
    elsewhere=partial(flags_elsewhere, "ppo"),
)


def parse(arguments: Sequence[str]) -> Invocation[Config]:
    """The configuration that the arguments ask for; errors as of ``flags.parse``."""
    return flags.parse(_for_help(arguments) if {"-h", "--help"} & {*arguments} else COMMAND, arguments)


def _for_help(arguments: Sequence[str]) -> CommandLine[Config]:
    """The command line; for the help of a game that is named without what other games have."""
    name = named_game(arguments)
    if name is None or not is_known(name):
        return COMMAND
    check_game(name)
    game = find_game(name)
    kept = tuple(option for option in OPTIONS if game.has(option.path) and option.path != "game.type")
    lines = [f"modes: {', '.join(sorted(MODES))}"]
    if game.stages:
        lines.append("--character list and --stage list show those names")
    if game.preset is not None:
        lines.append(f"Without settings of a preset: {game.preset}")
    return replace(COMMAND, program=replace(PPO, options=kept), epilog="\n".join(lines))
