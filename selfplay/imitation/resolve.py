"""The settings of a training, resolved before torch is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint.run_dir import check_writable_folder
from selfplay.config.resume import saved_config, with_changes
from selfplay.errors import ConfigError
from selfplay.games.registry import find_game
from selfplay.imitation.folders import game_in
from selfplay.imitation.hook import imitation_of
from selfplay.machine import check_device
from selfplay.policy.played_game import check_known

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.imitation.settings import ImitationConfig


def resolve_imitation(
    config: ImitationConfig, explicit: Mapping[str, Any], resumed: LearnerState | None = None
) -> ImitationConfig:
    """The configuration of a training; arguments and errors as of ``selfplay.config.resolve.resolve_ppo``."""
    if resumed is not None:
        config = _resumed(resumed, explicit)
        check_device(config.run.device)
        return config
    check_device(config.run.device)
    if config.data.replays is None:
        raise ConfigError("--replays PATH is needed: recorded games to learn from")
    check_writable_folder(Path(config.run.checkpoint), "--checkpoint")
    imitation_of(find_game(config.data.game)).check(Path(config.data.replays))
    return config


def _resumed(state: LearnerState, explicit: Mapping[str, Any]) -> ImitationConfig:
    game = game_in(state.meta.config)
    check_known(game)
    program = imitation_of(find_game(game)).program
    # The game first: another one has other settings. --checkpoint names the folder that holds the training, and stays.
    order = sorted(explicit, key=lambda path: path != "data.game")
    changes = {path: explicit[path] for path in order if path != "run.checkpoint"}
    config: ImitationConfig = with_changes(saved_config(state, program.settings), changes, program.options)
    return config
