"""Players as they are just before the hits of a frame, which a file shows only afterwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compile import rule
from envs.melee.physics.frame import advance_frame
from envs.melee.physics.memory import MEMORY
from envs.melee.state import GAME, NUM_SEATS, PLAYER, records


class Board(NamedTuple):
    """A game that compiled functions write to."""

    game: NDArray[np.void]  # GAME [1]
    players: NDArray[np.void]  # PLAYER [2]
    memory: NDArray[np.void]  # MEMORY [2]


def empty_board() -> Board:
    """A board for two players."""
    return Board(records(GAME, 1), records(PLAYER, NUM_SEATS), records(MEMORY, NUM_SEATS))


@rule
def one_frame_on(real, t, ahead, tables):
    """Let the mock play from frame t - 1 to t, with hits switched off."""
    ahead.game[0] = real.game[t - 1]
    for seat in range(2):
        ahead.players[seat] = real.players[t - 1, seat]
        ahead.memory[seat] = real.memory[t - 1, seat]
        ahead.players[seat].invulnerable = 1
    advance_frame(ahead.game[0], ahead.players, ahead.memory, real.controllers[t], tables)
