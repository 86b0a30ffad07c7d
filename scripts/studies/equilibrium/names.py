"""Games and methods by name; imports nothing, so that the command line needs none of their packages."""

from __future__ import annotations

from typing import Final

_GOOFSPIEL: Final = "goofspiel(imp_info=True,num_cards=5,points_order=descending)"
GAMES: Final[dict[str, str]] = {
    "kuhn_poker": "kuhn_poker",
    "leduc_poker": "leduc_poker",
    "liars_dice": "liars_dice(numdice=1,dice_sides=6)",
    "goofspiel": f"turn_based_simultaneous_game(game={_GOOFSPIEL})",
    "dark_hex": "dark_hex(board_size=2)",
}
"""What OpenSpiel calls each game."""

OURS: Final = "selfplay-"
PRESETS: Final = ("board", "equilibrium")  # of ``selfplay train`` that are measured
METHODS: Final = ("cfr", "ppo", "nfsp", "rnad", *(f"{OURS}{preset}" for preset in PRESETS))
MARKS: Final = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Shares of the processor time at which policies are measured."""
