"""The rollout against many frozen policies, compared with one: same games, seats and shape of network."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from envs.registry import make_game
from scripts.studies.bench.loop import make_session
from scripts.studies.bench.speed import ROLLOUT
from selfplay.league.modes import Opponent
from selfplay.runner.block import MIRROR, Block
from selfplay.runner.segment import SegmentOrder
from selfplay.seeding import derive
from selfplay.train.fighting.learner import Learner

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic


class FrozenOpponents:
    """The games of the loop; every second one is against a frozen policy, the others are mirror games."""

    def __init__(self, policies: int) -> None:
        """Seat the players.

        Args:
            policies: number of different frozen policies.
        """
        session = make_session("unused")
        sizes = session.blocks
        self._pool = ThreadPoolExecutor(len(sizes))
        self._blocks = [
            Block(make_game("mock", **session.game_options(games)), derive(0, name, 1)) for name, games in sizes.items()
        ]
        frozen: dict[str, ActorCritic] = {}
        for i in range(policies):
            learner = Learner(session, threads=1)
            frozen[f"gen_{i}"] = learner.snapshot()
            learner.close()
        opponents = [seat for name in frozen for seat in (MIRROR, Opponent("generation", name, "any_past"))]
        self._order = SegmentOrder(0, ROLLOUT, 0, frozen["gen_0"], frozen, tuple(opponents))

    def segment_s(self) -> float:
        """Play a segment of all games; seconds."""
        start = time.perf_counter()
        for collected in self._pool.map(partial(Block.collect, order=self._order), self._blocks):
            collected.release()
        return time.perf_counter() - start

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()
