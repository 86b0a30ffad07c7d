"""Speed of reading replay files, and of making examples for imitation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from selfplay_melee.examples import examples
from selfplay_melee.mock import MockMelee, neutral_actions
from selfplay_melee.replay import Recording, Replay, read_replay, seat_of, write_replay
from selfplay_melee.state import NUM_SEATS
from selfplay_melee.tables import load_tables


def write_games(folder: Path, games: int = 4, frames: int = 3600) -> list[Path]:
    """Write replays of mock games between two scripted players."""
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


def frames_per_second(
    paths: Sequence[Path], rounds: int = 5, use: Callable[[Replay], object] = lambda replay: replay.state
) -> float:
    """Frames read a second: median of ``rounds`` over all files, after one that warms the file cache.

    The time of ``use`` counts: columns are made when they are first used.

    Raises:
        ReplayError: a file cannot be read.
    """
    frames, times = 0, []
    for _ in range(1 + rounds):
        start = time.perf_counter()
        frames = 0
        for path in paths:
            replay = read_replay(path)
            use(replay)
            frames += len(replay.rolled_back)
        times.append(time.perf_counter() - start)
    return frames / statistics.median(times[1:])


def imitated_frames_per_second(paths: Sequence[Path], rounds: int = 5) -> float:
    """Game-frames read and encoded a second: both seats, every frame from 0 on a decision.

    Raises:
        ReplayError: a file cannot be read.
        GameError: a game is on a stage that has no table.
    """
    tables = load_tables()
    return frames_per_second(
        paths, rounds, lambda replay: [examples(replay, seat, 1, 0, tables) for seat in range(NUM_SEATS)]
    )
