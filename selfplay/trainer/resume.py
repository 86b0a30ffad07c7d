"""Which settings a resumed run may change, and which it may not."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from selfplay.config import OPTIONS, Config
from selfplay.errors import ConfigError, IncompatibleError, boundary
from selfplay.trainer.command_line import flag_of, shown

if TYPE_CHECKING:
    from selfplay.checkpoint import LearnerState
    from selfplay.options import Group, Option

MAY_CHANGE: Final = frozenset(
    {
        "run.timesteps", "run.max_minutes", "run.save_interval",
        "run.keep_checkpoints", "run.keep_every", "run.keep_best",
        "run.device", "run.host", "run.ray_address", "run.workers", "run.checkpoint",
        "run.threads", "run.collect_timeout", "run.chaos", "league.track_elo", "league.rating_share",
        "league.population", "game.dolphin", "game.iso", "emulator.headless", "emulator.fast_forward",
        "emulator.slippi_port", "emulator.save_replays", "emulator.start_timeout", "emulator.frame_timeout",
        "emulator.recycle_frames", "emulator.recycle_mb", "guard.loop_timeout", "guard.max_abandoned",
    }
)  # fmt: skip


STARTED: Final = ("game.dolphin", "game.iso")
"""Settings that start a program. A run's folder may be a stranger's: what it says of them is shown, never done."""

CLUSTER: Final = ("run.ray_address",)
"""Settings that hand a token and work to somebody; named again for the same reason."""


def continued(state: LearnerState, explicit: Mapping[str, Any]) -> Config:
    """The configuration of the run that ``state`` is of, with what the user may change and did.

    Raises:
        ConfigError: a value that may not change differs; names both. Or the user did not name what is to be started.
        IncompatibleError: the run was made by a version with other settings.
    """
    with boundary(IncompatibleError, f"{state.path}: its configuration cannot be used"):
        config = Config.model_validate(state.meta.config)
    values = config.model_dump()
    match state.meta.config:
        case {"league": {"population": int()}}:
            pass
        case _:  # of a version that kept everything: nobody chose to lose what the run has
            values["league"]["population"] = max(config.league.population, 2 * len(state.meta.generations))
    change(values, explicit, MAY_CHANGE, OPTIONS)
    leave_cluster(values["run"], explicit)
    for limit, other in (("max_minutes", "timesteps"), ("timesteps", "max_minutes")):
        if f"run.{limit}" in explicit and f"run.{other}" not in explicit:
            values["run"][other] = None  # a new limit stands for both: the old one may have been reached
    with boundary(ConfigError, "these settings do not go together"):
        config = Config.model_validate(values)
    refuse_unnamed(config, explicit, (*STARTED, *CLUSTER), OPTIONS)
    return config


def leave_cluster(run: dict[str, Any], explicit: Mapping[str, Any]) -> None:
    """What is only of clusters goes with the cluster, where a run goes on without one."""
    if run["host"] != "ray":
        run |= {"ray_address": explicit.get("run.ray_address"), "workers": explicit.get("run.workers", 0)}


def change(
    values: dict[str, Any], explicit: Mapping[str, Any], may_change: Collection[str], options: Sequence[Option]
) -> None:
    """Write what the user gave, by dotted name, into the settings of what is resumed, by group and name.

    Raises:
        ConfigError: a value that may not change differs; names both.
    """
    for path, value in explicit.items():
        group, _, name = path.partition(".")
        before = values[group][name]
        if path not in may_change and value != before:
            raise ConfigError(
                f"{flag_of(options, path)} is {shown(value)}, but the run to resume was started with {shown(before)}; "
                "it cannot change within a run"
            )
        values[group][name] = value


def refuse_unnamed(
    config: Group, explicit: Collection[str], started: Collection[str], options: Sequence[Option]
) -> None:
    """Refuse to start a program, or to ask a server, because a file says so: the user names it again.

    Args:
        config: as it was read.
        explicit: dotted names of what the user gave.
        started: dotted names of the settings that this is about.
        options: their flags.

    Raises:
        ConfigError: with the flags to type.
    """
    if any(path not in explicit for path in _set(config, started)):
        raise ConfigError(
            "the folder of the run says which programs to start or which server to ask, and folders can be anybody's; "
            f"if that is what you want, add{spelled(config, started, options)}"
        )


def spelled(config: Group, started: Collection[str], options: Sequence[Option]) -> str:
    """What to add to a command that resumes: a space and a flag for each of ``started`` that is set."""
    found = _set(config, started)
    return "".join(f" {flag_of(options, path)}={shlex.quote(shown(value))}" for path, value in found.items())


def _set(config: Group, paths: Collection[str]) -> dict[str, object]:
    """Those that differ from their default."""
    found: dict[str, object] = {}
    for path in paths:
        group, _, name = path.partition(".")
        settings = getattr(config, group)
        value = getattr(settings, name)
        if value != type(settings).model_fields[name].default:
            found[path] = value
    return found
