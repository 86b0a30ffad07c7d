"""The command line of ``scripts/train_self_play.py``, and what all scripts need of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from envs.melee.tables import check_readable
from envs.registry import DIALOGUE, GAMES, find_game
from selfplay.config import command_line, dialogue, presets
from selfplay.config.command_line import Invocation, Program, check_name
from selfplay.config.fighting import OPTIONS, RANDOM, Config
from selfplay.league.modes import MODES

EPILOG: Final = """for the flags of dialogue games: --game-type matching --help

examples:
  python scripts/train_self_play.py --game-type mock --timesteps 1000 --num-games 4
      a smoke test, seconds
  python scripts/train_self_play.py --game-type mock --preset laptop --track-elo
      learns to beat every scripted player, prints a leaderboard
  python scripts/train_self_play.py --resume --timesteps 20000000
      continues the newest run
"""


def _imply(explicit: dict[str, Any]) -> None:
    """Check the game before types are validated, which would not name the nearest; a time limit alone ends a run."""
    if isinstance(name := explicit.get("game.type"), str):
        check_name("--game-type", name, [*GAMES, *DIALOGUE])
    if "run.max_minutes" in explicit and "run.timesteps" not in explicit:
        explicit["run.timesteps"] = None


def _check_names(config: Config) -> None:
    game = find_game(config.game.type)
    if game.fighter:
        check_readable(config.game.character, config.game.opponent_character, config.game.stage)
        cast = [*sorted(game.characters), RANDOM]
        check_name("--character", config.game.character, cast)
        check_name("--opponent-character", config.game.opponent_character, cast)
        check_name("--stage", config.game.stage, [*sorted(game.stages), RANDOM])
    check_name("--mode", config.league.mode, sorted(MODES))
    for name in config.league.held_out or ():
        check_name("--held-out", name, tuple(game.rated.players))


PROGRAM: Final = Program(
    description="Train a policy by self-play.",
    epilog=EPILOG,
    settings=Config,
    options=OPTIONS,
    presets=presets.FIGHTING,
    example=("ppo.gamma", "0.98"),
    resume="continue the run of --checkpoint, or the newest",
    imply=_imply,
    check=_check_names,
    elsewhere={
        option.flag: f"the dialogue games: --game-type {' or '.join(DIALOGUE)}"
        for option in dialogue.OPTIONS
        if option.flag not in {mine.flag for mine in OPTIONS}
    },
)


def parse(arguments: Sequence[str]) -> Invocation[Config]:
    return command_line.parse(PROGRAM, arguments)
