"""Players as they are just before the hits of a frame, which a file shows only afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.compile import compiled
from selfplay_melee.physics.frame import advance_frame, update_invulnerable
from selfplay_melee.physics.memory import MEMORY
from selfplay_melee.state import GAME, NUM_SEATS, PLAYER, records

if TYPE_CHECKING:
    from scripts.studies.fidelity.reconstruct import ReplayArrays
    from selfplay_melee.tables import Tables

ALWAYS = 10.0  # frames of intangibility, which no hit of the next frame passes


class Pose(NamedTuple):
    """Players and what they remember: of one frame, [2], or of each frame of a replay, [T, 2]."""

    players: NDArray[np.void]  # PLAYER
    memory: NDArray[np.void]  # MEMORY


def empty_pose(*shape: int) -> Pose:
    """Zeroed players."""
    return Pose(records(PLAYER, *shape), records(MEMORY, *shape))


def before_hits(real: ReplayArrays, frames: NDArray[np.int64], tables: Tables) -> Pose:
    """Both players on some frames, [T, 2] and zeros elsewhere: one frame of the mock on, with hits switched off."""
    ahead = empty_pose(len(real.players), NUM_SEATS)
    _advance(real, frames, ahead, records(GAME, 1), empty_pose(NUM_SEATS), tables)
    return ahead


@compiled
def _advance(real, frames, ahead, game, pose, tables):
    for t in frames:
        game[0] = real.game[t - 1]
        for seat in range(2):
            pose.players[seat] = real.players[t - 1, seat]
            pose.memory[seat] = real.memory[t - 1, seat]
            pose.memory[seat].intangible = ALWAYS
        advance_frame(game[0], pose.players, pose.memory, real.controllers[t], tables)
        for seat in range(2):
            pose.memory[seat].intangible = max(real.memory[t - 1, seat].intangible - 1.0, 0.0)
            update_invulnerable(pose.players[seat], pose.memory[seat], tables)
            ahead.players[t, seat] = pose.players[seat]
            ahead.memory[t, seat] = pose.memory[seat]
