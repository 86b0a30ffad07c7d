"""From what the user asked for to the one configuration that a call of a trainer works with, before torch is loaded.

Values come first, later ones win: defaults, ``--preset``, ``--config FILE.toml``, ``--set group.name=value``, flags
(``program.invoke``). Then the steps below apply in their order. The trainers do the rest, which needs torch: networks,
memory, and the device itself. The folder of a new run is made after all of them, so that a mistake leaves none behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint import resolve_policy
from selfplay.config.applicable import check_agreement, check_applicable
from selfplay.config.defaults import with_defaults
from selfplay.config.game_settings import game_settings
from selfplay.config.ppo import SCRIPTED
from selfplay.config.resume import resumed_ppo
from selfplay.machine import check_device

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.config.ppo import Config


def resolve_ppo(
    config: Config,
    explicit: Mapping[str, Any],
    resumed: LearnerState | None = None,
    notice: Callable[[str], object] = lambda _: None,
) -> Config:
    """The configuration of a run of games with actions by number. Blocks.

    Args:
        config: What the user asked for, of a new run.
        explicit: The values that the user gave, by dotted name; of a resumed run only they count.
        resumed: State of the run that is resumed.
        notice: Called with notices for the user, to be shown below the header.

    Raises:
        SelfPlayError: with the message and exit code for the user.
    """
    if resumed is not None:
        config = resumed_ppo(resumed, explicit)
    check_device(config.run.device)
    check_applicable(config, explicit)
    check_agreement(config, explicit)
    config = game_settings(config.game.type).complete(config, notice)
    if resumed is not None:
        return config
    for policy in (*config.league.opponents, config.run.pretrained):
        if policy not in (None, SCRIPTED):
            resolve_policy(Path(policy))
    return with_defaults(config)
