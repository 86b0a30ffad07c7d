"""Blocks of real games under a real pool: what breaks in the middle of a segment costs that segment alone."""

import asyncio
import os
import signal

import pytest

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.league.modes import Opponent
from selfplay.policy.network import build_network
from selfplay.runner.block import Block
from selfplay.runner.process_game import ProcessGame
from selfplay.runner.segment import SegmentOrder
from selfplay.runner.work_queue import Job, WorkQueue
from selfplay.runner.worker import Worker
from selfplay_melee.controller import ACTION_SPEC
from selfplay_melee.mock import MockMelee
from selfplay_melee.observation import OBS_WIDTH
from tests.runner.pools import Resources, failures, runners
from tests.support.cases import first_alone

GAMES, STEPS = 2, 6


def order():
    spec = NetworkSpec(obs_width=OBS_WIDTH, hidden=(8,))
    network = build_network(spec, ActionHeads(binary=ACTION_SPEC.binary, sizes=ACTION_SPEC.sizes))
    opponents = (Opponent("current", "current", "current"), Opponent("scripted", "random", "scripted"))
    return SegmentOrder(0, STEPS, 0, network.eval(), {}, opponents)


class Breaking:
    """A game in front of which something happens to its block at one step of the first incarnation."""

    def __init__(self, game, at, what):
        self._game = game
        self._left = at
        self._what = what

    def __getattr__(self, name):
        return getattr(self._game, name)

    def step(self, actions):
        self._left -= 1
        if self._left == 0:
            self._what(self._game)
        return self._game.step(actions)


class Blocks(Resources):
    """Opens blocks of games on one host; those of the first incarnation break at a step."""

    def __init__(self, make, what, at=STEPS // 2):
        super().__init__()
        self._make = make
        self._what = what
        self._at = at
        self.pids = []

    def open(self, runner, incarnation):
        game = self._make("mock", {"num_games": GAMES, "frame_skip": 4})
        self.pids.append(getattr(game, "pid", None))
        block = Block(Breaking(game, self._at, self._what) if incarnation == 1 else game, seed=incarnation)
        if incarnation > 1:
            block.warm_up()
        return block


def thread_game(name, options):
    return MockMelee(**options)


def raises(game):
    raise FloatingPointError("the rules broke")


def send(number):
    return lambda game: os.kill(game.pid, number)


def collect(blocks, timeout_s):
    """One segment of one runner, and what the pool said about it."""

    async def main():
        queue = WorkQueue(["a"], timeout_s)
        async with runners(queue, blocks) as (pool, reports):
            segment = order()
            results = await queue.ask({"a": Job(lambda block: block.collect(segment))})
            (child,) = pool.which_children()
            return results["a"].rollout, failures(reports), child.restarts

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("make", "what", "timeout_s", "words"),
    first_alone(
        [
            (thread_game, raises, 200.0, "FloatingPointError: the rules broke"),
            (ProcessGame, send(signal.SIGKILL), 200.0, "ended with exit code -9 in the middle of a segment"),
            (ProcessGame, send(signal.SIGSTOP), 5.0, "--collect-timeout"),
        ]
    ),
    ids=["thread-raises", "process-killed", "process-hangs"],
)
def test_a_runner_that_breaks_in_a_segment_is_replaced(make, what, timeout_s, words):
    before = Worker.abandoned
    rollout, (message,), restarts = collect(Blocks(make, what), timeout_s)
    assert rollout.obs.shape[:2] == (STEPS, 2 * GAMES)
    assert words in message
    assert restarts == 1
    assert Worker.abandoned == before  # and no process either: that is seen to for every test
