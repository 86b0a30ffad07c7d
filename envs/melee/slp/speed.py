"""How fast replay files are read."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from envs.melee.mock import MockMelee, neutral_actions
from envs.melee.replay import Recording, read_replay, seat_of, write_replay


def write_games(folder: Path, games: int = 4, frames: int = 3600) -> list[Path]:
    """Files of games of the mock between two scripted players, for those who have no replays."""
    block = MockMelee(games, characters=("fox", "mewtwo"), max_episode_frames=frames + 1)
    block.bots[:] = [block.bot_names.index(name) for name in ("rusher", "edge_guarder")]
    block.reset(np.arange(games, dtype=np.uint64))
    recordings = [Recording(game) for game in range(games)]
    for _ in range(frames):
        if block.step(neutral_actions(games)).terminated.any():
            break
        for recording in recordings:
            recording.take(block.state)
    paths = []
    for game, recording in enumerate(recordings):
        state = recording.state()
        seats = (seat_of(0, int(state.players["character"][0, 0])), seat_of(1, int(state.players["character"][0, 1])))
        paths.append(folder / f"game_{game}.slp")
        write_replay(paths[-1], state, seats, int(state.game["stage"][0]))
    return paths


def frames_per_second(paths: Sequence[Path], rounds: int = 5) -> float:
    """Game-frames read a second, both players and all fields: median of ``rounds`` over all files together.

    One round before them compiles the scan and warms the file cache.

    Raises:
        ReplayError: a file cannot be read.
    """
    frames = sum(len(read_replay(path).pre) for path in paths)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for path in paths:
            read_replay(path)
        times.append(time.perf_counter() - start)
    return frames / statistics.median(times)
