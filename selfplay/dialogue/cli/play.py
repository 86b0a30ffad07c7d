"""``selfplay play`` for text games."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from selfplay.errors import ConfigError

if TYPE_CHECKING:
    import argparse
    from pathlib import Path


def play(folder: Path, options: argparse.Namespace) -> None:
    from selfplay.dialogue.commands.generation import generation_in
    from selfplay.dialogue.commands.play import play_in_terminal
    from selfplay.dialogue.rating import FrozenPlayers
    from selfplay.dialogue.rules import game_of
    from selfplay.games.errors import UnknownNameError

    found = generation_in(folder)
    entry, rules = game_of(found.config)
    name = options.opponent or found.name
    names = (*found.names, *entry.players)
    if name not in names:
        raise ConfigError(str(UnknownNameError("opponent", name, names)))
    opponent = FrozenPlayers(found.config, found.run, "cpu").player(name)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    play_in_terminal(entry, rules, name, opponent, input, print, seed=seed, seat=options.seat or 0)
