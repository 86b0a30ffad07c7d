"""The command line of ``scripts/train_from_replays.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from envs.melee.tables import check_readable, names_of
from envs.plugins import allow
from selfplay.config import command_line, presets
from selfplay.config.command_line import Invocation, Program, check_name
from selfplay.config.imitation import OPTIONS, ImitationConfig
from selfplay.errors import ConfigError

EPILOG: Final = """examples:
  python scripts/train_from_replays.py --replays replays --preset quick
      a smoke test, less than two minutes
  python scripts/train_from_replays.py --replays replays --epochs 10 --backbone gru --temporal
      a recurrent policy
  python scripts/train_self_play.py --pretrained checkpoints/imitation_best_policy
      continues with self-play
"""


def _allow_backbone(explicit: dict[str, Any]) -> None:
    if isinstance(name := explicit.get("net.backbone"), str):
        allow(name)


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
    resume="continue the training of --checkpoint, or the newest below it",
    imply=_allow_backbone,
    check=_check_names,
)


def parse(arguments: Sequence[str]) -> Invocation[ImitationConfig]:
    """The configuration that the arguments ask for; errors as of ``command_line.parse``.

    Raises:
        ConfigError: a new training without ``--replays``, too.
    """
    invocation = command_line.parse(PROGRAM, arguments)
    if invocation.config.data.replays is None and not invocation.resume:
        raise ConfigError("--replays DIR is needed: the folder of the .slp files to learn from")
    return invocation
