"""``--pretrained``: a policy to start from, and the settings that come with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from selfplay.config import Config, by_path
from selfplay.errors import ConfigError
from selfplay.policy.policy import game_of, load_policy

if TYPE_CHECKING:
    from collections.abc import Mapping


def adopt(config: Config, explicit: Mapping[str, Any]) -> Config:
    """The configuration with network, frame skip and delay of the pretrained policy.

    Raises:
        ConfigError: the user gave another value for one of them; names both.
        IncompatibleError: the policy sees other observations than this version makes.
        CheckpointError: no policy lies there.
    """
    path = config.run.pretrained
    if path is None:
        return config
    meta = load_policy(path).meta
    if game_of(meta) != config.game.type:
        raise ConfigError(f"--pretrained {path} plays {game_of(meta)}, not {config.game.type}")
    theirs: dict[str, Any] = {
        "net.hidden": meta.network.hidden,
        "net.activation": meta.network.activation,
        "game.frame_skip": meta.frame_skip,
        "game.delay": meta.delay,
    }
    values = config.model_dump()
    for name, value in theirs.items():
        group, _, field = name.partition(".")
        if name in explicit and explicit[name] != value:
            option = by_path().get(name)
            flag = option.flag if option else f"--set {name}"
            raise ConfigError(f"{flag} is {explicit[name]!r}, but --pretrained {path} was made with {value!r}")
        values[group][field] = value
    return Config.model_validate(values)
