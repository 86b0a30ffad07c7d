"""The command line of ``selfplay imitate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from selfplay.cli import flags
from selfplay.cli.flags import CommandLine
from selfplay.config.programs import IMITATION, invoke_imitation

if TYPE_CHECKING:
    from selfplay.config.imitation import ImitationConfig
    from selfplay.config.program import Invocation

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
    invoke=invoke_imitation,
    description="Train a policy to imitate the players of replays.",
    epilog=EPILOG,
    page="docs/imitation.md",
    resume="Continue that of --checkpoint, or the newest below",
)


def parse(arguments: Sequence[str]) -> Invocation[ImitationConfig]:
    """The configuration that the arguments ask for; errors as of ``flags.parse``."""
    return flags.parse(COMMAND, arguments)
