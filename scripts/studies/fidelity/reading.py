"""Reading replays as the mock would record them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envs.melee.actions import name_common
from envs.melee.replay import read_replay

if TYPE_CHECKING:
    from pathlib import Path

    from envs.melee.replay import Replay


def read_scored(path: Path) -> Replay:
    """A replay whose players have the common numbers of attacks that are states of their own in the game.

    Raises:
        ReplayError: the file is no replay.
    """
    replay = read_replay(path)
    name_common(replay.state.players)
    return replay
