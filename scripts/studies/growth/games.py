"""Growth with the games in a block: seconds of a step, of an update, and of choosing opponents."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from envs.registry import make_game
from scripts.studies.bench.speed import fixed_config
from scripts.studies.growth.series import Measured, Series, seconds
from selfplay.checkpoint import RunDir
from selfplay.league.matchmaker import Matchmaker
from selfplay.league.records import generation_id
from selfplay.machine import usable_cores
from selfplay.runner.block import Block
from selfplay.runner.segment import SegmentOrder
from selfplay.train.fighting.batch import summarise
from selfplay.train.fighting.learner import Learner
from selfplay.train.fighting.session import Session

SIZES: Final = (1, 4, 16, 64, 256, 1024, 4096)
STEPS: Final = 16  # of a segment: 4096 games make 131,072 decisions
POOL: Final = 100  # generations that opponents are drawn from


def measure_games(sizes: Sequence[int], tell: Callable[[str], None]) -> list[Series]:
    """Seconds by games of one block, one thread for the games and one a core for the update."""
    measured = Measured("games")
    with tempfile.TemporaryDirectory() as folder:
        session = Session(fixed_config(folder, iterations=1), RunDir(Path(folder)), "cpu")
        learner = Learner(session, threads=usable_cores())
        try:
            for size in sizes:
                tell(f"{size} games")
                _measure(measured, session, learner, size)
        finally:
            learner.close()
    return measured.all


def _measure(measured: Measured, session: Session, learner: Learner, games: int) -> None:
    block = Block(make_game("mock", **session.game_options(games)), seed=0)
    order = SegmentOrder(0, STEPS, 0, learner.snapshot(), {}, ())
    block.collect(order).release()  # begins all games
    collected = block.collect(order)
    measured.add("collecting, a step", games, seconds(lambda: block.collect(order).release(), calls=20) / STEPS)
    measured.add("update", games, seconds(lambda: learner.update([collected.rollout], 0, 0.0), calls=5))
    measured.add("report of an iteration", games, seconds(lambda: summarise([collected])))
    maker = Matchmaker("pfsp", np.random.default_rng(0), ("random",))
    maker.set_pool([generation_id(10 * i) for i in range(POOL)])
    maker.rotate()
    measured.add("opponents, and results of them", games, seconds(lambda: _matched(maker, games)))


def _matched(maker: Matchmaker, games: int) -> None:
    """Draw opponents and record that all games ended, half of them won."""
    scores: dict[str, list[float]] = {}
    for i, opponent in enumerate(maker.draw(games)):
        scores.setdefault(opponent.id, []).append(i % 2)
    maker.record(scores)
