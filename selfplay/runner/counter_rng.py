"""A counter-based random number generator: the draws of a game's decisions depend on that game alone.

With one generator for all games of a block a game's draws would depend on the other games, and it could not be replayed
alone. Here each number is a function of the game, the seat, the decision and the part of the action:
the SplitMix64 generator (Steele, Lea and Flood 2014), whose n-th number can be had without those before it.
``policy/browser/uniforms.js`` gives pages the same numbers.

A game is its seed, its players, their roles, and who sits where. Two games of a seat-swapped pair therefore share
the start's seed but no random number of their policies. If numbers went with the seat, the same seat would win both
games of two equal players; if they went with the player, the same player would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay.games.splitmix import words
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.league.schedule import Matchup

_WITHOUT_ROLES: Final = ("mewtwo", "mewtwo")  # in place of roles; other words would change all games of such matchups
_WIDEST: Final = 1 << 16  # numbers that are kept for one decision; an action has far fewer parts


def keys_of(matchups: Sequence[Matchup]) -> NDArray[np.uint64]:
    """Keys that distinguish the seats of all games, [G, 2]."""
    keys = [
        [derive(game.seed, "decisions", *game.players, *(game.roles or _WITHOUT_ROLES), seat) for seat in (0, 1)]
        for game in matchups
    ]
    return np.array(keys, np.uint64).reshape(-1, 2)


def uniforms(keys: NDArray[np.uint64], decision: int, width: int) -> NDArray[np.float32]:
    """Numbers in [0, 1), multiples of 2^-24: [N, width] for the keys [N] of seats, whose decisions count from 0."""
    count = np.uint64(decision * _WIDEST + 1) + np.arange(width, dtype=np.uint64)
    drawn = words(keys[:, None], count)
    return (drawn >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
