"""The command line of ``selfplay train`` for dialogue games."""

from __future__ import annotations

from functools import partial
from typing import Final

from envs.registry import GAMES
from selfplay.cli import flags
from selfplay.cli.flags import CommandLine
from selfplay.config import ppo, program
from selfplay.config.dialogue import OPTIONS
from selfplay.config.options import moved
from selfplay.config.programs import DIALOGUE

EPILOG: Final = """examples:
  selfplay train --game-type matching --preset laptop
      trains the embedded model, first supervised, then by self-play
  selfplay train --game-type matching --model Qwen/Qwen2.5-0.5B-Instruct --device cuda
      trains another model
"""
FIGHTS: Final = f"the other games: --game-type {', '.join(GAMES)}"

COMMAND: Final = CommandLine(
    program=DIALOGUE,
    invoke=partial(program.invoke, DIALOGUE),
    description="Train a language model by self-play in dialogue games.",
    epilog=EPILOG,
    page="docs/dialogue.md",
    resume="Continue the run of --checkpoint, or the newest",
    elsewhere={
        flag: FIGHTS
        for flag in (*(option.flag for option in ppo.OPTIONS), *moved(ppo.Config))
        if flag not in {mine.flag for mine in OPTIONS}
    },
)
parse: Final = partial(flags.parse, COMMAND)
