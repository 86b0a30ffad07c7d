"""The command line of ``selfplay imitate``."""

from __future__ import annotations

from functools import partial
from typing import Final

from selfplay.cli import flags
from selfplay.cli.flags import CommandLine
from selfplay.config import program
from selfplay.imitation.program import IMITATION

EPILOG: Final = """examples:
  selfplay imitate --replays replays --preset quick
      a smoke test, less than two minutes
  selfplay imitate --replays replays --epochs 10 --backbone gru --temporal
      a recurrent policy
  selfplay train --pretrained checkpoints/imitation_best_policy
      continues with self-play
"""

COMMAND: Final = CommandLine(
    program=IMITATION,
    invoke=partial(program.invoke, IMITATION),
    description="Train a policy to imitate the players of replays.",
    epilog=EPILOG,
    page="docs/melee/imitation.md",
    resume="Continue that of --checkpoint, or the newest below",
)
parse: Final = partial(flags.parse, COMMAND)
