"""The command line of ``scripts/train_self_play.py`` for games of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from envs.registry import DIALOGUE, GAMES
from selfplay.config import OPTIONS as OF_FIGHTS
from selfplay.errors import ConfigError
from selfplay.runner.chaos import FORCED, parse_plan
from selfplay.trainer import command_line
from selfplay.trainer.command_line import Invocation, Parser, Program, check_name
from selfplay.trainer.dialogue.config import OPTIONS, PRESETS, LanguageConfig

EPILOG: Final = """examples:
  python scripts/train_self_play.py --game-type matching --preset laptop
      makes the embedded model, then trains it by self-play
  python scripts/train_self_play.py --game-type matching --model Qwen/Qwen2.5-0.5B-Instruct --device cuda
      goes on with a model of your own
"""
FIGHTS: Final = f"the other games: --game-type {', '.join(GAMES)}"


def _limits(explicit: dict[str, Any]) -> None:
    """Where the user limits turns or time and not the games, games end nothing."""
    if isinstance(name := explicit.get("game.type"), str):
        check_name("--game-type", name, [*GAMES, *DIALOGUE])
    if {"run.max_minutes", "run.timesteps"} & explicit.keys() and "run.games" not in explicit:
        explicit["run.games"] = None


def _check(config: LanguageConfig) -> None:
    """What types cannot say; games and models are looked for when they are opened."""
    for kind in parse_plan(config.run.chaos):
        if kind in FORCED and config.run.host != "ray":
            raise ConfigError(
                f"--chaos {config.run.chaos}: {kind} needs a process, and games of words have none: add --host ray"
            )


PROGRAM: Final = Program(
    name="train_self_play.py",
    description="Two copies of a language model play a game of words, thousands of games, and the model learns.",
    epilog=EPILOG,
    settings=LanguageConfig,
    options=OPTIONS,
    presets=PRESETS,
    example=("grpo.kl", "0.001"),
    resume="continue the run of --checkpoint, or the newest",
    imply=_limits,
    check=_check,
    elsewhere={option.flag: FIGHTS for option in OF_FIGHTS if option.flag not in {mine.flag for mine in OPTIONS}},
)


def make_parser() -> Parser:
    """All flags, in sections."""
    return command_line.make_parser(PROGRAM)


def parse(arguments: Sequence[str]) -> Invocation[LanguageConfig]:
    """The configuration that the arguments ask for; errors as of ``command_line.parse``."""
    return command_line.parse(PROGRAM, arguments)
