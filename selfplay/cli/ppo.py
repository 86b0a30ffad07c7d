"""The command line of ``selfplay train``."""

from __future__ import annotations

from functools import partial
from typing import Final

from envs.registry import DIALOGUE, GAMES
from selfplay.cli import flags
from selfplay.cli.flags import CommandLine
from selfplay.config import programs
from selfplay.config.programs import MELEE, PPO, invoke_ppo
from selfplay.league.modes import MODES

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
    page="docs/guide.md",
    words={name: f"--game-type {name}" for name in (*GAMES, *DIALOGUE)} | {"melee": MELEE},
    other=(programs.DIALOGUE, f"the dialogue games: --game-type {' or '.join(DIALOGUE)}"),
)
parse: Final = partial(flags.parse, COMMAND)
