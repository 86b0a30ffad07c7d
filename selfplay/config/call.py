"""Checks of a call of a trainer against the machine and its files, before torch is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from envs.registry import find_game
from selfplay.checkpoint import check_new_run, resolve_policy, resolve_run
from selfplay.config.applicable import check_agreement, check_applicable
from selfplay.config.defaults import with_defaults
from selfplay.config.dialogue import DialogueConfig
from selfplay.config.imitation import ImitationConfig
from selfplay.config.ppo import SCRIPTED, Config
from selfplay.machine import check_device, usable_cores
from selfplay.memory_limits import check_address_space
from selfplay.replays.folder import replay_files

if TYPE_CHECKING:
    from selfplay.config.program import Invocation


def check_call(call: Invocation[Any]) -> None:
    """Refuse what cannot work; a trainer finds out the rest.

    Raises:
        SelfPlayError: with the message and exit code for the user.
    """
    config = call.config
    check_address_space(usable_cores())
    check_device(config.run.device)
    if isinstance(config, ImitationConfig):
        if config.data.replays is not None and find_game(config.data.game).fighter:
            replay_files(Path(config.data.replays))
        return
    folder, named = Path(config.run.checkpoint), "run.checkpoint" in call.explicit
    if call.resume:
        resolve_run(folder if named else None)
        return
    if isinstance(config, Config):
        _check_fights(config, call)
    if isinstance(config, (Config, DialogueConfig)):
        check_new_run(folder, is_default=not named)


def _check_fights(config: Config, call: Invocation[Any]) -> None:
    check_applicable(config, call.explicit)
    check_agreement(config, call.explicit)
    with_defaults(config)
    policies = [*config.league.opponents, *([config.run.pretrained] if config.run.pretrained else [])]
    for policy in policies:
        if policy != SCRIPTED:
            resolve_policy(Path(policy))
