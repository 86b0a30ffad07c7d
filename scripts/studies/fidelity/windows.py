"""Windows: from every frame of a replay the mock plays 30 frames with the recorded inputs, compared with the replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity.reconstruct import replay_arrays
from selfplay.compilation.compile import compiled
from selfplay_melee import actions as a
from selfplay_melee.physics.frame import advance_frame
from selfplay_melee.physics.memory import MEMORY
from selfplay_melee.state import GAME, NUM_SEATS, PLAYER, records
from selfplay_melee.tables import Tables, load_tables

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

LENGTH: Final = 30  # frames of a window
NEAR: Final = 0.1  # units, within which a window still counts as close
CHECKS: Final = (1, 5, 15, 30)  # frames after the start at which positions are compared


class Windows(NamedTuple):
    """Windows that start at the frames 0 .. T - 1 - LENGTH of a replay, a row each, for both seats."""

    error: NDArray[np.float64]  # [W, 2, len(CHECKS)] units between mock and real game
    same: NDArray[np.int32]  # [W, 2] frames of the window, from its first on, on which the actions are equal
    close: NDArray[np.int32]  # [W, 2] frames of the window, from its first on, within NEAR units
    lands: NDArray[np.int32]  # [W, 2] frame of the window on which the mock first comes down to the ground, 0 none


def play_windows(replay: Replay, memory: NDArray[np.void], tables: Tables | None = None) -> Windows:
    """Play every window of a replay; ``memory`` is what ``reconstruct_memory`` gives."""
    count = max(0, len(replay.state.players) - LENGTH)
    windows = Windows(
        np.zeros((count, NUM_SEATS, len(CHECKS))),
        np.zeros((count, NUM_SEATS), np.int32),
        np.zeros((count, NUM_SEATS), np.int32),
        np.zeros((count, NUM_SEATS), np.int32),
    )
    mock = records(GAME, 1), records(PLAYER, NUM_SEATS), records(MEMORY, NUM_SEATS)
    _play(replay_arrays(replay, memory), *mock, np.array(CHECKS), tables or load_tables(), windows)
    return windows


@compiled
def _play(real, game, mock, memory, checks, tables, windows):
    error, same, close = windows.error, windows.same, windows.close
    for start in range(len(error)):
        game[0] = real.game[start]
        for seat in range(2):
            mock[seat] = real.players[start, seat]
            memory[seat] = real.memory[start, seat]
            if mock[seat].action == a.DOWN_BOUND_UP or mock[seat].action == a.DOWN_BOUND:
                mock[seat].on_ground = 1  # the game counts the bounce as flight, though the player stays where it is
        check = 0
        for i in range(1, checks[-1] + 1):
            grounded = mock[0].on_ground, mock[1].on_ground
            advance_frame(game[0], mock, memory, real.controllers[start + i], tables)
            for seat in range(2):
                if mock[seat].on_ground and not grounded[seat] and windows.lands[start, seat] == 0:
                    windows.lands[start, seat] = i
                actual = real.players[start + i, seat]
                if mock[seat].action == actual.action and same[start, seat] == i - 1:
                    same[start, seat] = i
                dx, dy = mock[seat].x - actual.x, mock[seat].y - actual.y
                distance = np.sqrt(dx * dx + dy * dy)
                if distance <= NEAR and close[start, seat] == i - 1:
                    close[start, seat] = i
                if i == checks[check]:
                    error[start, seat, check] = distance
            if i == checks[check]:
                check += 1
