"""The command line of ``selfplay train`` for dialogue games."""

from __future__ import annotations

from functools import partial
from typing import Final

from selfplay.cli import flags
from selfplay.cli.flags import CommandLine
from selfplay.config import program
from selfplay.dialogue.program import DIALOGUE
from selfplay.run.trainings import flags_elsewhere

EPILOG: Final = """examples:
  selfplay train --game-type matching --preset laptop
      trains the embedded model, first supervised, then by self-play
  selfplay train --game-type matching --model Qwen/Qwen2.5-0.5B-Instruct --device cuda
      trains another model
"""

COMMAND: Final = CommandLine(
    program=DIALOGUE,
    invoke=partial(program.invoke, DIALOGUE),
    description="Train a language model by self-play in dialogue games.",
    epilog=EPILOG,
    elsewhere=partial(flags_elsewhere, "dialogue"),
)
parse: Final = partial(flags.parse, COMMAND)
