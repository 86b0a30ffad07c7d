"""The command line of ``selfplay imitate``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from envs.melee.tables import check_readable, names_of
from selfplay.config import command_line, presets
from selfplay.config.applicable import check_settings
from selfplay.config.command_line import Invocation, Program, check_name
from selfplay.config.imitation import OPTIONS, ImitationConfig
from selfplay.config.ppo_cli import check_own_code
from selfplay.errors import ConfigError

EPILOG: Final = """examples:
  selfplay imitate --replays replays --preset quick
      a smoke test, less than two minutes
  selfplay imitate --replays replays --epochs 10 --backbone gru --temporal
      a recurrent policy
  selfplay train --pretrained checkpoints/imitation_best_policy
      continues with self-play
"""


def _check_names(config: ImitationConfig) -> None:
    for name in config.data.character:
        check_readable(name)
        check_name("--character", name, names_of("characters"))


PROGRAM: Final = Program(
    description="Train a policy to imitate the players of replays.",
    epilog=EPILOG,
    settings=ImitationConfig,
    options=OPTIONS,
    presets=presets.IMITATION,
    example=("learn.epochs", "20"),
    page="docs/imitation.md",
    resume="Continue that of --checkpoint, or the newest below",
    imply=partial(check_own_code, game="data.game"),
    check=_check_names,
)


def parse(arguments: Sequence[str]) -> Invocation[ImitationConfig]:
    """The configuration that the arguments ask for; errors as of ``command_line.parse``.

    Raises:
        ConfigError: a new training without ``--replays``, too; and what recorded games have no use for.
    """
    invocation = command_line.parse(PROGRAM, arguments)
    check_settings(invocation.config.data.game, invocation.explicit, OPTIONS)
    if invocation.config.data.replays is None and not invocation.resume:
        raise ConfigError(
            "--replays PATH is needed: a folder of .slp files, or a file of recorded games, to learn from"
        )
    return invocation
