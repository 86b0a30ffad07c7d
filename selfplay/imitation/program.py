"""The settings of imitation, checked; and what a call of the trainer works with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint.run_dir import check_writable_folder
from selfplay.config.imitation import FIGHTS, OPTIONS, ImitationConfig
from selfplay.config.options import flag_of
from selfplay.config.program import Program
from selfplay.config.programs import check_own_code
from selfplay.config.resume import saved_config, with_changes
from selfplay.config.words import check_name
from selfplay.errors import ConfigError
from selfplay.games.registry import find_game
from selfplay.machine import check_device
from selfplay_melee.replays.folder import replay_files
from selfplay_melee.tables import check_readable, names_of

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.config.presets import Presets

PRESETS: Final[Presets] = {
    "quick": {
        "data": {"max_files": 5},
        "net": {"hidden": (32, 32)},
        "learn": {"epochs": 2, "batch_size": 256},
    },
    "full_cpu": {"net": {"hidden": (256, 256)}, "learn": {"epochs": 15, "batch_size": 1024}},
    "gpu_standard": {
        "net": {"backbone": "gru", "hidden": (256, 256, 256)},
        "learn": {"epochs": 20, "batch_size": 8192, "temporal": True},
        "run": {"device": "cuda"},
    },
    "production": {
        "net": {"backbone": "mamba", "hidden": (512, 512, 512, 512)},
        "learn": {"epochs": 50, "batch_size": 16384, "learning_rate": 5e-4, "temporal": True, "patience": 8},
        "run": {"device": "auto"},
    },
}


def _check(config: ImitationConfig) -> None:
    for name in config.data.character:
        check_readable(name)
        check_name("--character", name, names_of("characters"))


IMITATION: Final = Program(
    settings=ImitationConfig,
    options=OPTIONS,
    presets=PRESETS,
    example=("learn.epochs", "20"),
    imply=partial(check_own_code, game="data.game"),
    check=_check,
)


def resolve_imitation(
    config: ImitationConfig, explicit: Mapping[str, Any], resumed: LearnerState | None = None
) -> ImitationConfig:
    """The configuration of a training; arguments and errors as of ``selfplay.config.resolve.resolve_ppo``."""
    if resumed is not None:
        # --checkpoint names the folder that holds the training, and stays what it was
        explicit = {path: value for path, value in explicit.items() if path != "run.checkpoint"}
        config = with_changes(saved_config(resumed, ImitationConfig), explicit, OPTIONS)
    check_device(config.run.device)
    if not find_game(config.data.game).fighter:
        for path in FIGHTS:
            if path in explicit:
                raise ConfigError(
                    f"{flag_of(OPTIONS, path)} goes with --game-type mock or dolphin; "
                    f"--game-type {config.data.game} has no use for it"
                )
    if resumed is not None:
        return config
    if config.data.replays is None:
        raise ConfigError(
            "--replays PATH is needed: a folder of .slp files, or a file of recorded games, to learn from"
        )
    check_writable_folder(Path(config.run.checkpoint), "--checkpoint")
    if find_game(config.data.game).fighter:
        replay_files(Path(config.data.replays))
    return config
