"""A block on the other end of a link plays as one here does, bit for bit."""

import dataclasses
import gc
from contextlib import suppress
from functools import partialmethod

import numpy as np
import pytest

from selfplay.errors import RunnerError
from selfplay.league.modes import Opponent
from selfplay.runner.block import Block
from selfplay.runner.block_client import BlockClient, WeightStore
from selfplay.runner.block_server import BlockServer, Opening, open_block
from selfplay.runner.chaos import FaultPlan
from selfplay.runner.segment import SegmentOrder
from tests.runner.links import LocalLink, Shared
from tests.runner.test_serialization import network

GAMES, STEPS, SEED = 3, 40, 5
OPTIONS = {"num_games": GAMES, "frame_skip": 4, "max_episode_frames": 60, "stagger": True}  # episodes of 15 steps
OPPONENTS = (
    Opponent("current", "current", "current"),
    Opponent("generation", "gen_0", "past"),
    Opponent("scripted", "random", "scripted"),
)


def opening(snapshot=({}, {})):
    return Opening("mock", OPTIONS, SEED, process=False, start_timeout_s=None, real_time=False, snapshot=snapshot)


def remote(snapshot=({}, {}), faults=None):
    link = LocalLink(BlockServer())
    block = BlockClient(link, WeightStore(Shared), lambda: dataclasses.replace(opening(snapshot), faults=faults))
    block.open()
    return block, link


def orders(count, teacher=None):
    old = network(9, "gru")
    return [
        SegmentOrder(i, STEPS, i, network(i), {"gen_0": old} if i == 0 else {}, OPPONENTS, teacher)
        for i in range(count)
    ]


def assert_equal(one, other):
    for field in dataclasses.fields(one.rollout):
        here, there = getattr(one.rollout, field.name), getattr(other.rollout, field.name)
        assert (here is None) == (there is None), field.name
        assert here is None or np.array_equal(here, there), field.name
    assert (one.episodes, one.met, one.in_play, one.notes) == (other.episodes, other.met, other.in_play, other.notes)


@pytest.mark.parametrize("teacher", [None, network(77)], ids=["alone", "beside-a-teacher"])
def test_segments_are_those_of_a_block_here(teacher):
    here = open_block(opening())
    there, _ = remote()
    for order in orders(3, teacher):
        collected = there.collect(order)
        assert_equal(here.collect(order), collected)
        assert collected.episodes
        assert collected.rollout.obs.flags.writeable  # of our own: nothing pins the store


def test_a_network_crosses_once_and_is_stored_once_for_all():
    store = WeightStore(Shared)
    first, second = LocalLink(BlockServer()), LocalLink(BlockServer())
    blocks = [BlockClient(link, store, opening) for link in (first, second)]
    order = orders(1)[0]
    again = dataclasses.replace(order, iteration=1)
    for block in blocks:
        block.open()
        block.collect(order)
        block.collect(again)
    assert first.sent == second.sent == [("code", 0), ("open", 0), ("collect", 2), ("collect", 0)]
    assert store.find(order.network) is store.find(order.network)
    assert len(store._there) == 2
    del order, again
    gc.collect()
    assert len(store._there) == 0  # nobody can ask for them any more


def test_the_next_block_goes_on_where_a_snapshot_was_taken():
    first, second = orders(2)
    before, _ = remote()
    before.collect(first)
    after, _ = remote(before.snapshot())
    frozen = dataclasses.replace(second, frozen=first.frozen)  # of the games in progress
    assert_equal(before.collect(frozen), after.collect(frozen))


def test_a_planned_fault_strikes_there():
    block, _ = remote(faults=FaultPlan({"crash": 1.0}, 0, STEPS))
    with pytest.raises(RunnerError, match=r"crashed on purpose \(--chaos\)"):
        block.collect(orders(1)[0])


def test_another_version_of_the_code_is_refused(monkeypatch):
    monkeypatch.setattr(BlockServer, "code", staticmethod(lambda: "older"))
    with pytest.raises(RunnerError, match="another version of this project"):
        remote()


def test_who_was_severed_gives_nothing_more():
    block, link = remote()
    assert block.kill() is True
    with pytest.raises(RunnerError, match="severed"):
        block.collect(orders(1)[0])
    block.close()
    assert link.closed


def test_the_other_end_wants_to_be_opened_first():
    with pytest.raises(RunnerError, match="before it was opened"):
        BlockServer().snapshot()


def test_games_that_refuse_their_options_say_so():
    link = LocalLink(BlockServer())
    bad = dataclasses.replace(opening(), options=OPTIONS | {"stage": "nowhere"})
    with pytest.raises(Exception, match="nowhere"):
        BlockClient(link, WeightStore(Shared), lambda: bad).open()


def test_games_are_not_taken_by_an_end_that_is_not_there():
    class Nowhere(LocalLink):
        def ready(self):
            raise RunnerError("no room")

    taken = []
    for link in (Nowhere(BlockServer()), LocalLink(BlockServer())):
        block = BlockClient(link, WeightStore(Shared), lambda: taken.append(1) or opening())
        with suppress(RunnerError):
            block.open()
    assert taken == [1]


def test_games_in_progress_are_compiled_for_before_the_first_segment(monkeypatch):
    before, _ = remote()
    before.collect(orders(1)[0])
    calls = []
    for name in ("warm_up", "restore"):
        monkeypatch.setattr(Block, name, partialmethod(lambda self, *_, name: calls.append(name), name=name))
    remote(before.snapshot())
    assert calls == ["warm_up", "restore"]
