"""The settings of the training of text games, checked; and what a call of the trainer works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from selfplay.config.program import Program
from selfplay.config.programs import check_own_code
from selfplay.config.resolve import check_host
from selfplay.config.resume import refuse_unnamed, saved_config, with_changes
from selfplay.dialogue.opponent_settings import is_server
from selfplay.dialogue.settings import OPTIONS, DialogueConfig, refuse_single_games
from selfplay.machine import check_device
from selfplay.report.trackers.find import check_trackers
from selfplay.runner.chaos import check_plan

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.config.presets import Presets

PRESETS: Final[Presets] = {
    "laptop": {
        "start": {"tokens": 12_000_000},
        "run": {"games": 44_880, "num_games": 240, "save_interval": 20, "evaluation_states": 1024},
        "grpo": {"learning_rate": 3e-4, "batch_rows": 240, "anneal": True},
    },
}


def _imply(explicit: dict[str, Any]) -> None:
    """With a limit of turns or time only, the number of games has no limit."""
    check_own_code(explicit)
    if {"run.max_minutes", "run.timesteps"} & explicit.keys() and "run.games" not in explicit:
        explicit["run.games"] = None


def _check(config: DialogueConfig) -> None:
    """Checks beyond types; games and models are checked when they are opened."""
    check_plan(config.run.chaos, processes=config.run.host == "ray", host="ray")


DIALOGUE: Final = Program(
    settings=DialogueConfig,
    options=OPTIONS,
    presets=PRESETS,
    example=("grpo.kl", "0.001"),
    imply=_imply,
    check=_check,
)


def resolve_dialogue(
    config: DialogueConfig, explicit: Mapping[str, Any], resumed: LearnerState | None = None
) -> DialogueConfig:
    """The configuration of a run; arguments and errors as of ``selfplay.config.resolve.resolve_ppo``."""
    if resumed is not None:
        config = with_changes(saved_config(resumed, DialogueConfig), explicit, OPTIONS)
    check_device(config.run.device)
    check_trackers(config.run.report_to)
    check_host(config.run.host, explicit.get("run.ray_address"))
    config.league.check_share(explicit)
    _refuse_unnamed_servers(config, explicit)
    if resumed is None:
        refuse_single_games(config.grpo.games_per_state, config.grpo.baseline)
    return config


def _refuse_unnamed_servers(config: DialogueConfig, explicit: Mapping[str, Any]) -> None:
    """Refuse to ask servers of ``--opponent`` because the folder of a resumed run says so; models are copies in it."""
    if any(map(is_server, config.league.opponents)):
        refuse_unnamed(config, explicit, ["league.opponents"], OPTIONS)
