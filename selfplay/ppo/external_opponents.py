"""``--opponent``: policies of other runs as opponents in training. They are copied into the run."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.checkpoint import RunDir, resolve_policy, save_policy
from selfplay.config.options import flag_of
from selfplay.errors import ConfigError
from selfplay.policy.played_game import check_plays
from selfplay.policy.policy import Policy, load_policy, parameters_of
from selfplay.ppo.archive import EXTERNAL_PREFIX

if TYPE_CHECKING:
    from selfplay.config.ppo import GameConfig


def load_opponents(paths: Sequence[str], game: GameConfig, pretrained: str | None) -> dict[str, Policy]:
    """The policies of ``--opponent`` by id in this run, without duplicates.

    Raises:
        ConfigError: one plays another game, or differs in what policies of a run share, such as the delay.
        CheckpointError: a folder has no policy, or one that this version cannot use.
    """
    found: dict[str, Policy] = {}
    for path in paths:
        folder = resolve_policy(Path(path))
        policy = load_policy(folder)
        meta = policy.meta
        check_plays(meta, game.type, f"--opponent {path}")
        for name in game.kind.agreed:
            flag, theirs, ours = flag_of(game.options, f"game.{name}"), meta.body[name], getattr(game, name)
            if theirs != ours:
                here = f"this run has {ours}; give {flag}"
                if pretrained is not None:  # the flag must have its value
                    here = f"--pretrained {pretrained} with {ours}: these two cannot play in one run"
                raise ConfigError(f"--opponent {path} was made with {flag} {theirs}, {here}")
        if meta.weights_hash not in {known.meta.weights_hash for known in found.values()}:
            found[_name(folder, found)] = policy
    return found


def install_opponents(run: RunDir, opponents: Mapping[str, Policy]) -> None:
    """Copy the policies into the folder of a new run."""
    for name, policy in opponents.items():
        save_policy(run.external_opponents / name, policy.meta, parameters_of(policy.network))


def _name(folder: Path, taken: Collection[str]) -> str:
    """The id of a policy in this run: from its run and generation, or from its folder."""
    folder = folder.resolve()
    words = [folder.parent.parent.name, folder.name] if folder.parent.name == "generations" else [folder.name]
    name = EXTERNAL_PREFIX + re.sub(r"[^A-Za-z0-9_.-]", "_", ".".join(words))[:80]
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free
