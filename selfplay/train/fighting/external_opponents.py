"""``--opponent``: policies of other runs that training meets, copied into the run so that it stands on its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.checkpoint import RunDir, load_generation, resolve_policy, save_policy
from selfplay.errors import ConfigError
from selfplay.policy.policy import can_play, game_of, load_policy
from selfplay.train.fighting.archive import GUEST

if TYPE_CHECKING:
    from selfplay.checkpoint import PolicyMeta
    from selfplay.checkpoint.tensors import Arrays
    from selfplay.config.fighting import GameConfig


@dataclass(frozen=True, slots=True)
class ExternalOpponent:
    """A policy of another run, by the id that it has in this one."""

    id: str
    meta: PolicyMeta
    params: Arrays


def load_opponents(opponents: Sequence[str], game: GameConfig, pretrained: str | None) -> list[ExternalOpponent]:
    """The policies of ``--opponent``, each set of weights once.

    Raises:
        ConfigError: one plays another game, or decides at another frame skip or delay than this run; names both.
        CheckpointError: no policy lies there, or one that this version cannot use.
    """
    guests: dict[str, ExternalOpponent] = {}
    for path in opponents:
        folder = resolve_policy(Path(path))
        meta = load_policy(folder).meta
        if not can_play(meta, game.type):
            raise ConfigError(f"--opponent {path} plays {game_of(meta)}, not {game.type}")
        for flag, theirs, ours in (
            ("--frame-skip", meta.frame_skip, game.frame_skip),
            ("--delay", meta.delay, game.delay),
        ):
            if theirs != ours:
                here = f"this run has {ours}; give {flag}"
                if pretrained is not None:  # whose own value is the only one that the flag may have
                    here = f"--pretrained {pretrained} with {ours}: these two cannot play in one run"
                raise ConfigError(f"--opponent {path} was made with {flag} {theirs}, {here}")
        name = _name(folder, {guest.id for guest in guests.values()})
        guests.setdefault(str(meta.weights_hash), ExternalOpponent(name, *load_generation(folder)))
    return list(guests.values())


def install_opponents(run: RunDir, guests: list[ExternalOpponent]) -> None:
    """Copy the guests into the folder of a new run."""
    for guest in guests:
        save_policy(run.guests / guest.id, guest.meta, guest.params)


def _name(folder: Path, taken: set[str]) -> str:
    """What the guest is called: its run and its generation, or the name of its folder."""
    folder = folder.resolve()
    words = [folder.parent.parent.name, folder.name] if folder.parent.name == "generations" else [folder.name]
    name = GUEST + re.sub(r"[^A-Za-z0-9_.-]", "_", ".".join(words))[:80]
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free
