"""``selfplay check-game`` for text games."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def check(options: argparse.Namespace) -> int:
    """Print what was found; 1 where the game is broken."""
    from selfplay.commands.cli.check_game import limit_of
    from selfplay.dialogue.commands.check_game import examine

    found = examine(options.game, limit_of(options))
    if options.json:
        print(json.dumps(asdict(found)))
        return 1 if found.broken else 0
    print(f"{found.game}: text, {found.objective}, players {', '.join(found.players)}")
    for text in found.broken:
        print(f"  broken: {text}")
    if not found.broken:
        print("  the contract is kept: seeds, turns, refusals, odd replies, rewards and players")
    if found.exact is not None:
        print(f"  exact figures: {found.exact}")
    for text in found.notes:
        print(f"  note: {text}")
    if found.rewards is not None:
        first, second = found.rewards
        print(f"  random games last {found.turns:.1f} turns and pay {first:.3f} and {second:.3f}")
        print(f"  {found.words} words for the embedded model; alone {found.turns_per_s:,.0f} turns/s")
    return 1 if found.broken else 0
