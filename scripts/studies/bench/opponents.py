"""Measure the rollout against 16 and 32 frozen policies, compared with one: same games, seats and networks' shape."""

from __future__ import annotations

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from scripts.studies.bench.loop import make_blocks, make_session, network
from scripts.studies.bench.show import add_output, show
from scripts.studies.bench.speed import ROLLOUT, ROWS
from scripts.studies.command_line import Command
from scripts.studies.pages import measured_here
from selfplay.league.modes import Opponent
from selfplay.runner.block import MIRROR, Block
from selfplay.runner.segment import SegmentOrder

if TYPE_CHECKING:
    import argparse

POLICIES = (1, 16, 32)


class FrozenOpponents:
    """The games of the loop; every second one is against a frozen policy, the others are mirror games."""

    def __init__(self, policies: int) -> None:
        """Seat the players.

        Args:
            policies: number of different frozen policies.
        """
        session = make_session("unused")
        self._blocks = make_blocks(session)
        self._pool = ThreadPoolExecutor(len(self._blocks))
        self._frozen = {f"gen_{i}": network() for i in range(policies)}
        self._rng = random.Random(0)

    def segment_s(self) -> float:
        """Play a segment of all games; seconds."""
        frozen = self._frozen
        names = self._rng.sample([*frozen], len(frozen))
        opponents = tuple(seat for name in names for seat in (MIRROR, Opponent("generation", name, "any_past")))
        order = SegmentOrder(0, ROLLOUT, 0, frozen["gen_0"], frozen, opponents)
        start = time.perf_counter()
        for collected in self._pool.map(partial(Block.collect, order=order), self._blocks):
            collected.release()
        return time.perf_counter() - start

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()


def main() -> int:
    """Run the command; the exit code."""
    command = Command("bench.opponents", __doc__)
    command.add_argument("--rounds", type=int, default=20, metavar="N", help="samples of each (default: %(default)s)")
    add_output(command)
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    games = {policies: FrozenOpponents(policies) for policies in POLICIES}
    for each in games.values():
        each.segment_s()  # compile, allocate, warm up
    rounds = [{policies: each.segment_s() for policies, each in games.items()} for _ in range(options.rounds)]
    for each in games.values():
        each.close()
    speeds = {f"agent_steps_per_s_{n}": ROWS / median(times[n] for times in rounds) for n in POLICIES}
    kept = {f"share_kept_{n}": median(times[1] / times[n] for times in rounds) for n in POLICIES[1:]}
    show(options, {**measured_here(), **speeds, **kept}, "bench_opponents.json", "opponents")


if __name__ == "__main__":
    sys.exit(main())
