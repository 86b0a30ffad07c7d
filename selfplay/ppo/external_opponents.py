"""``--opponent``: policies of other runs as opponents in training. They are copied into the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.checkpoint import RunDir, load_generation, resolve_policy, save_policy
from selfplay.config.options import flag_of
from selfplay.errors import ConfigError
from selfplay.policy.played_game import check_plays
from selfplay.policy.policy import load_policy
from selfplay.ppo.archive import EXTERNAL_PREFIX

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta
    from selfplay.checkpoint.tensors import Arrays
    from selfplay.config.ppo import GameConfig


@dataclass(frozen=True, slots=True)
class ExternalOpponent:
    """A policy of another run, with its id in this run."""

    id: str
    meta: PolicyMeta
    params: Arrays


def load_opponents(paths: Sequence[str], game: GameConfig, pretrained: str | None) -> list[ExternalOpponent]:
    """The policies of ``--opponent``, without duplicates.

    Raises:
        ConfigError: one plays another game, or differs in what policies of a run share, such as the delay.
        CheckpointError: a folder has no policy, or one that this version cannot use.
    """
    found: dict[str, ExternalOpponent] = {}
    for path in paths:
        folder = resolve_policy(Path(path))
        meta = load_policy(folder).meta
        check_plays(meta, game.type, f"--opponent {path}")
        for name in game.kind.agreed:
            flag, theirs, ours = flag_of(game.options, f"game.{name}"), meta.body[name], getattr(game, name)
            if theirs != ours:
                here = f"this run has {ours}; give {flag}"
                if pretrained is not None:  # the flag must have its value
                    here = f"--pretrained {pretrained} with {ours}: these two cannot play in one run"
                raise ConfigError(f"--opponent {path} was made with {flag} {theirs}, {here}")
        name = _name(folder, {opponent.id for opponent in found.values()})
        found.setdefault(str(meta.weights_hash), ExternalOpponent(name, *load_generation(folder)))
    return list(found.values())


def install_opponents(run: RunDir, opponents: list[ExternalOpponent]) -> None:
    """Copy the policies into the folder of a new run."""
    for opponent in opponents:
        save_policy(run.external_opponents / opponent.id, opponent.meta, opponent.params)


def _name(folder: Path, taken: set[str]) -> str:
    """The id of a policy in this run: from its run and generation, or from its folder."""
    folder = folder.resolve()
    words = [folder.parent.parent.name, folder.name] if folder.parent.name == "generations" else [folder.name]
    name = EXTERNAL_PREFIX + re.sub(r"[^A-Za-z0-9_.-]", "_", ".".join(words))[:80]
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free
