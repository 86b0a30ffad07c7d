"""One training by imitation. What needs no torch, which takes seconds to load, comes first."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from selfplay.checkpoint.run_dir import check_writable_folder
from selfplay.config.options import field_of
from selfplay.config.resume import saved_config, type_in, with_changes
from selfplay.errors import ConfigError
from selfplay.games.registry import DEFAULT, find_game
from selfplay.imitation.hook import imitation_of
from selfplay.machine import check_device, usable_cores
from selfplay.memory_limits import check_address_space
from selfplay.policy.played_game import check_known

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.config.program import Invocation
    from selfplay.imitation.settings import ImitationConfig


def train(call: Invocation[ImitationConfig], stream: TextIO | None = None) -> int:
    """Train to the end; the exit code. Arguments and errors as of ``selfplay.ppo.train.train``."""
    stream = stream or sys.stdout
    check_address_space(usable_cores())
    config = call.config if call.resume else resolve_imitation(call.config)
    from selfplay.imitation import app

    if call.resume:
        return app.resume(Path(config.run.checkpoint), call.explicit, call.preset, stream)
    return app.start(config, call.preset, stream)


def resolve_imitation(config: ImitationConfig) -> ImitationConfig:
    """The configuration of a new training, checked; errors as of ``selfplay.config.resolve.resolve_ppo``."""
    check_device(config.run.device)
    if config.data.replays is None:
        what = field_of(type(config), "data.replays").description or ""
        raise ConfigError(f"--replays PATH is needed: {what[:1].lower()}{what[1:]}")
    check_writable_folder(Path(config.run.checkpoint), "--checkpoint")
    imitation_of(find_game(config.data.game)).check(Path(config.data.replays))
    return config


def resumed_imitation(state: LearnerState, explicit: Mapping[str, Any]) -> ImitationConfig:
    """The configuration of a training that is resumed, with the user's values by dotted name; errors likewise."""
    game = type_in(state.meta.config) or DEFAULT
    check_known(game)
    program = imitation_of(find_game(game)).program
    # The game first: another one has other settings. --checkpoint names the folder that holds the training, and stays.
    order = sorted(explicit, key=lambda path: path != "data.game")
    changes = {path: explicit[path] for path in order if path != "run.checkpoint"}
    config: ImitationConfig = with_changes(saved_config(state, program.settings), changes, program.options)
    check_device(config.run.device)
    return config
