"""Blocks of games as runners open them: here, in child processes, in emulators, or in actors of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, cast

from selfplay.checkpoint import group
from selfplay.machine import usable_cores
from selfplay.policy.inference_batcher import InferenceBatcher
from selfplay.policy.recurrent_state import Infer, infer_directly
from selfplay.runner.block import Block
from selfplay.runner.block_client import BlockClient, WeightStore
from selfplay.runner.block_server import BlockServer, Opening, open_block
from selfplay.runner.chaos import CountedFaults
from selfplay.runner.game_runner import SlowOpening, Turns
from selfplay.runner.work_queue import FIRST_TIMEOUT_S
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.ppo.session import Session
    from selfplay.run.progress import Progress
    from selfplay.runner.segment import GameBlock

OPENING: Final = max(2, usable_cores())  # emulators that start at once
TURN_S: Final = 5.0  # after which the next one may start: one that hangs must not keep the others from it


@dataclass(eq=False)
class Blocks:
    """Opens the blocks of a run."""

    session: Session
    notice: Callable[[str], object]  # called from any thread
    progress: Progress
    unplayable: Callable[[], Collection[str]]  # runners whose games of the checkpoint cannot continue
    opening: SlowOpening | None = None
    _reached: Counter[str] = field(default_factory=Counter)  # actors of each runner that were there

    def __post_init__(self) -> None:
        session, host = self.session, self.session.host
        begins_s = host.opens_within_s(session.config) if host else 0.0
        self.infer: Infer = InferenceBatcher() if host else infer_directly
        self._weights = None if session.cluster is None else WeightStore(session.cluster.put)
        turns = Turns(OPENING, TURN_S)
        if session.cluster is not None:  # an actor begins slowly
            self.opening = SlowOpening(turns, methodcaller("open"), FIRST_TIMEOUT_S + begins_s)
        elif host:
            self.opening = SlowOpening(turns, Block.begin, begins_s)

    def open(self, runner: str, incarnation: int) -> GameBlock:
        """Make a block of games, in the runner's thread; the first one of a resumed run continues its games."""
        cluster, progress = self.session.cluster, self.progress
        steps = self.session.config.ppo.rollout_length
        faults = progress.chaos.plan_of(runner, incarnation, progress.iteration, steps)
        on_fault = partial(progress.chaos.injected, runner)
        if cluster is None or self._weights is None:
            return open_block(replace(self._opening_of(runner, incarnation), faults=faults), self.infer, on_fault)
        link = cluster.link(BlockServer, runner)
        block = BlockClient(
            link,
            self._weights,
            lambda: replace(self._opening_elsewhere(runner), faults=faults),
            lambda seconds: self.notice(f"{runner}: its node compiles the game rules, {seconds:.0f} s so far"),
        )
        return block if faults is None else cast("GameBlock", CountedFaults(block, faults, on_fault))

    def _opening_elsewhere(self, runner: str) -> Opening:
        """Opening of the next games of an actor; actors that never started are not counted."""
        self._reached[runner] += 1
        return self._opening_of(runner, self._reached[runner])

    def _opening_of(self, runner: str, incarnation: int) -> Opening:
        session = self.session
        config, host = session.config, session.host
        snapshot: Any = {}, {}
        if session.resumed is not None and incarnation == 1 and runner not in self.unplayable():
            document = session.resumed.meta.opponents.get(runner, {})
            snapshot = group(session.resumed.arrays, f"games/{runner}"), document
        return Opening(
            game=config.game.type,
            options=session.block_options(runner),
            seed=derive(config.run.seed, runner, incarnation),
            process=host is not None or config.run.host == "process",
            start_timeout_s=host.start_timeout_s(config) if host else None,
            real_time=host is not None,
            snapshot=snapshot,
            process_mb=config.run.process_mb,
        )
