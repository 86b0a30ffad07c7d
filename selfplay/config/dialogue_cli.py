"""The command line of ``selfplay train`` for dialogue games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from envs.registry import GAMES
from selfplay.config import command_line, presets
from selfplay.config.command_line import Invocation, Program
from selfplay.config.dialogue import OPTIONS, DialogueConfig
from selfplay.config.ppo import OPTIONS as OF_FIGHTS
from selfplay.config.ppo_cli import check_game
from selfplay.errors import ConfigError
from selfplay.runner.chaos import FORCED, parse_plan

EPILOG: Final = """examples:
  selfplay train --game-type matching --preset laptop
      trains the embedded model, first supervised, then by self-play
  selfplay train --game-type matching --model Qwen/Qwen2.5-0.5B-Instruct --device cuda
      trains another model
"""
FIGHTS: Final = f"the other games: --game-type {', '.join(GAMES)}"


def _limits(explicit: dict[str, Any]) -> None:
    """With a limit of turns or time only, the number of games has no limit."""
    if isinstance(name := explicit.get("game.type"), str):
        check_game(name)
    if {"run.max_minutes", "run.timesteps"} & explicit.keys() and "run.games" not in explicit:
        explicit["run.games"] = None


def _check(config: DialogueConfig) -> None:
    """Checks beyond types; games and models are checked when they are opened."""
    for kind in parse_plan(config.run.chaos):
        if kind in FORCED and config.run.host != "ray":
            raise ConfigError(
                f"--chaos {config.run.chaos}: {kind} needs a process, and dialogue games have none: add --host ray"
            )


PROGRAM: Final = Program(
    description="Train a language model by self-play in dialogue games.",
    epilog=EPILOG,
    settings=DialogueConfig,
    options=OPTIONS,
    presets=presets.DIALOGUE,
    example=("grpo.kl", "0.001"),
    page="docs/dialogue.md",
    resume="Continue the run of --checkpoint, or the newest",
    imply=_limits,
    check=_check,
    elsewhere={
        flag: FIGHTS for flag in (option.flag for option in OF_FIGHTS) if flag not in {mine.flag for mine in OPTIONS}
    },
)


def parse(arguments: Sequence[str]) -> Invocation[DialogueConfig]:
    return command_line.parse(PROGRAM, arguments)
