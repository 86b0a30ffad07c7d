"""``--pretrained``: a policy to start from, and the settings that come with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from selfplay.config.options import flag_of, shown
from selfplay.config.ppo import OPTIONS, SCRIPTED, NetConfig
from selfplay.errors import ConfigError, IncompatibleError, boundary
from selfplay.policy.played_game import check_plays
from selfplay.policy.policy import load_policy

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.checkpoint import NetworkSpec, PolicyMeta
    from selfplay.config.ppo import Config
    from selfplay.policy.policy import Policy

BESIDE_A_TEACHER: Final = {"teacher_kl": 0.01, "teacher_kl_reverse": 0.0, "critic_burn_in": 20}
"""Settings of ``[ppo]`` that only a pretrained policy gives a meaning to; defaults where it was made by imitation."""
REST: Final = "net.rest"
"""How a fresh network begins, in games whose actions can rest."""
BURN_IN_SHARE: Final = 4  # by default the critic learns alone in a quarter of the run at most


@dataclass(frozen=True, slots=True)
class Start:
    """The policy of a game that imitates its scripted players, see ``GameKind.start``."""

    lack: Callable[[Any], str | None]  # why a run cannot start from it
    prepare: Callable[[Callable[[str], object]], None]  # compiles the rules that it needs; with a function for notices
    make: Callable[[Any, Path, Callable[[str], object], Callable[[], bool]], Policy | None]
    """For a run in a folder of the path, with a function for notices, and one that returns True to end the work."""


def start_of(config: Config) -> Start | None:
    made = config.game.kind.start
    return None if made is None else made()


def with_pretrained(
    config: Config, explicit: Mapping[str, Any], notice: Callable[[str], object] = lambda _: None
) -> Config:
    """The configuration with network, frame skip and delay of the pretrained policy, and how the run learns beside it.

    A policy that imitates scripted players is made for the run's own network, frame skip and delay.

    Args:
        config: of a new run, with all defaults filled in.
        explicit: what the user gave, by dotted name.
        notice: called with what the user may want to know.

    Raises:
        ConfigError: the user gave another value for one of them, and names both; or something that only a pretrained
            policy gives a meaning to, and there is none; or that only a fresh one does; or asked to imitate players
            that the game does not have.
        IncompatibleError: the policy sees other observations than this version makes, or its network is one that
            self-play has no settings for.
        CheckpointError: no policy lies there.
    """
    if config.run.pretrained == SCRIPTED:
        config = _imitation_or_scratch(config, explicit, notice)
    path = config.run.pretrained
    if path is None:
        moving = {"teacher_kl", "teacher_kl_reverse"} if config.ppo.average else set()
        for name in BESIDE_A_TEACHER:
            if f"ppo.{name}" in explicit and name not in moving:
                raise ConfigError(f"{flag_of(OPTIONS, f'ppo.{name}')} needs a policy to start from: --pretrained PATH")
        return config
    if REST in explicit:
        raise ConfigError(f"--set {REST} applies to new networks only; leave it out with --pretrained {path}")
    if path == SCRIPTED:
        return _with_teacher_defaults(config, imitated=True, notice=notice)
    meta = load_policy(path).meta
    check_plays(meta, config.game.type, f"--pretrained {path}")
    net = net_of(meta.network, config.net, f"--pretrained {path}")
    if net.spec(meta.network.obs_width) != meta.network:
        raise IncompatibleError(f"--pretrained {path}: its network has options that self-play cannot set")
    theirs: dict[str, Any] = {
        **{f"net.{name}": getattr(net, name) for name in ("backbone", "hidden", "activation", "window")},
        **{f"game.{name}": meta.body[name] for name in config.game.kind.agreed},
    }
    values = config.model_dump()
    for name, value in theirs.items():
        group, _, field = name.partition(".")
        if name in explicit and explicit[name] != value:
            raise ConfigError(
                f"{flag_of(config.game.options, name)} is {shown(explicit[name])}, "
                f"but --pretrained {path} was made with {shown(value)}"
            )
        values[group][field] = value
    config = _with_teacher_defaults(type(config).model_validate(values), imitated=by_imitation(meta), notice=notice)
    if told := config.game.own_settings.unlike(config, meta):
        notice(f"--pretrained {path} {told}")
    return config


def _imitation_or_scratch(config: Config, explicit: Mapping[str, Any], notice: Callable[[str], object]) -> Config:
    """The configuration; from scratch where a preset asks for imitation and the game has no players to imitate.

    Raises:
        ConfigError: the user asks for it.
    """
    start = start_of(config)
    if start is None:
        lack = f"--game-type {config.game.type} has no scripted players to imitate"
    elif (found := start.lack(config)) is not None:
        lack = found
        notice(f"From scratch: {lack}")
    else:
        return config
    if "run.pretrained" in explicit:
        raise ConfigError(f"--pretrained {SCRIPTED}: {lack}")
    return config.model_copy(update={"run": config.run.model_copy(update={"pretrained": None})})


def _with_teacher_defaults(config: Config, *, imitated: bool, notice: Callable[[str], object]) -> Config:
    """The configuration with what was not said of learning beside a teacher."""
    open_ones = {name: value for name, value in BESIDE_A_TEACHER.items() if getattr(config.ppo, name) is None}
    if not imitated:
        open_ones = dict.fromkeys(open_ones, 0)
    elif "critic_burn_in" in open_ones and config.iterations is not None:
        open_ones["critic_burn_in"] = min(open_ones["critic_burn_in"], config.iterations // BURN_IN_SHARE)
    ppo = config.ppo.model_copy(update=open_ones)
    if config.iterations is not None and (ppo.critic_burn_in or 0) >= config.iterations:
        notice(
            f"The run has {config.iterations} iterations, in all of which the critic alone learns (ppo.critic_burn_in)"
        )
    return config.model_copy(update={"ppo": ppo})


def by_imitation(meta: PolicyMeta) -> bool:
    """Return True if a policy was made from replays: its critic is untrained, and its behaviour is worth keeping."""
    return "imitation" in meta.config


def net_of(spec: NetworkSpec, base: NetConfig, what: str) -> NetConfig:
    """The settings of a policy's network, with ``base`` for what it does not define.

    Raises:
        IncompatibleError: a number of it is beyond what settings allow; names ``what`` the policy is.
    """
    values: dict[str, Any] = {"backbone": spec.kind, "hidden": spec.hidden, "activation": spec.activation}
    values |= {k: v for k, v in spec.options.items() if k == "window"}
    with boundary(IncompatibleError, f"{what}: self-play has no settings for its network"):
        return type(base).model_validate(base.model_dump() | values)
