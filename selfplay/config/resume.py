"""The configuration that was saved with a run or a policy, and what of it may change in a run that is resumed."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from selfplay.config.base import Group, Mark
from selfplay.config.options import changed, flag_of, marked, shown, value_of
from selfplay.config.ppo import Config
from selfplay.errors import ConfigError, IncompatibleError, boundary
from selfplay.games.plugins import is_code
from selfplay.games.registry import DEFAULT
from selfplay.policy.played_game import body_of, check_known, game_of

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.checkpoint import LearnerState, PolicyMeta, RunDir
    from selfplay.config.options import Option

Settings = TypeVar("Settings", bound=Group)


def saved_config(state: LearnerState, root: type[Settings]) -> Settings:
    """The configuration that was saved with a run; errors as of ``usable``."""
    return usable(root, state.meta.config, state.path)


def started_with(run: RunDir, root: type[Settings]) -> Settings:
    """The configuration of a run, see ``usable``; SelfPlayError too where its documents cannot be read."""
    return usable(root, run.read_run().get("config"), run.path)


def usable(root: type[Settings], document: object, place: Path) -> Settings:
    """A configuration from a document of ``place``.

    IncompatibleError if it was made by a version with other settings, or of a game that is not found here.
    """
    if (game := type_in(document)) is not None:
        check_known(game)
    with boundary(IncompatibleError, f"{place}: its configuration cannot be used"):
        return root.model_validate(document)


def trained_on(meta: PolicyMeta) -> Any:  # noqa: ANN401
    """Settings of the games that a policy was trained on; errors as of ``body_of``."""
    body = asdict(body_of(meta))
    with boundary(IncompatibleError, f"{meta.id}: its file has settings that games cannot have"):
        return Config.model_validate({"game": {"type": game_of(meta), **body}}).game


def with_changes(config: Settings, explicit: Mapping[str, Any], options: Sequence[Option]) -> Settings:
    """The saved configuration with the values that the user gave, by dotted name.

    Raises:
        ConfigError: a value that may not change differs; names both. Or the user did not name a program, server or
            cluster of the run again.
    """
    root = type(config)
    values = config.model_dump()
    change(values, explicit, marked(root, Mark.MAY_CHANGE), options)
    if values["run"].get("host", "ray") != "ray":  # a run that goes on without a cluster drops its address
        values["run"]["ray_address"] = explicit.get("run.ray_address")
    with boundary(ConfigError, "these settings do not go together"):
        config = root.model_validate(values)
    refuse_unnamed(config, explicit, marked(root, Mark.STARTS_PROGRAM, Mark.JOINS_CLUSTER), options)
    return config


def resumed_ppo(state: LearnerState, explicit: Mapping[str, Any]) -> Config:
    """The configuration of a resumed run of PPO. Errors as of the two functions above."""
    config = saved_config(state, Config)
    try:
        config.game.own_settings.check(config)
    except ConfigError as error:  # the file's names, not the user's
        raise IncompatibleError(f"{state.path}: its configuration cannot be used: {error}") from error
    limits = {"run.timesteps", "run.max_minutes"}
    if limits & explicit.keys():  # a new limit stands for both: the old one may have been reached
        explicit = dict.fromkeys(limits) | dict(explicit)
    return with_changes(config, explicit, config.game.options)


def change(
    values: dict[str, Any], explicit: Mapping[str, Any], may_change: Collection[str], options: Sequence[Option]
) -> None:
    """Write the user's values, by dotted name, into the settings of the resumed run, by group and name.

    ConfigError if a value that may not change differs; names both.
    """
    for path, value in explicit.items():
        group, _, name = path.partition(".")
        if name not in values.get(group, {}):
            raise ConfigError(f"{flag_of(options, path)} is no setting of the run to resume")
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

    ``started`` are the settings that this is about, ``explicit`` those that the user gave, both by dotted name.
    """
    found = changed(config, started)
    if any(path not in explicit for path in found):
        raise ConfigError(
            "the folder of the run says which programs to start or which server to ask, and folders can be anybody's; "
            f"if that is what you want, add{_flags(found, options)}"
        )


def spelled(config: Group, options: Sequence[Option]) -> str:
    """Flags to add to a command that resumes: for each program, server, cluster, and own game, network or tracker."""
    found = changed(config, marked(type(config), Mark.STARTS_PROGRAM, Mark.JOINS_CLUSTER))
    if any(map(is_code, trackers := value_of(config, "run.report_to"))):
        found["run.report_to"] = trackers
    return _flags(found, options) + own_code(config, options)


def own_code(config: Group, options: Sequence[Option]) -> str:
    """Flags to add to a command on a run: for a game and a network of the user's own."""
    named = {path: value_of(config, path) for path in ("game.type", "net.backbone")}
    return _flags({path: name for path, name in named.items() if is_code(str(name))}, options)


def _flags(found: Mapping[str, object], options: Sequence[Option]) -> str:
    return "".join(f" {flag_of(options, path)}={shlex.quote(shown(value))}" for path, value in found.items())


def game_of_run(run: RunDir) -> str:
    """Name of the game that a run was started with; the default game if none is recorded."""
    return type_in(run.read_run().get("config")) or DEFAULT


def type_in(document: object) -> str | None:
    """The game that a configuration of any training names; None if it names none, or is no configuration."""
    match document:
        case {"game": {"type": str(name)}} | {"data": {"game": str(name)}}:
            return name
    return None
