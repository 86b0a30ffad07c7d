"""Agents of OpenSpiel learn in self-play; needs OpenSpiel and what its agents need."""

import random
import time
from collections import deque

import pytest
import torch

pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")
pytest.importorskip("tree", reason="dm-tree, which OpenSpiel's agents need, is not installed")

from scripts.studies.equilibrium import nfsp, ppo
from scripts.studies.equilibrium.games import Tree
from scripts.studies.equilibrium.meter import Meter


@pytest.fixture(scope="module")
def kuhn():
    return Tree("kuhn_poker")


def decision(tree, reward, action):
    return ppo.Decision(
        torch.tensor(tree.tensors[0]), torch.tensor(tree.legal[0]), torch.tensor(action), torch.tensor(0.5).log(),
        torch.zeros(1), reward, done=True,
    )  # fmt: skip


def test_ppo_plays_what_was_rewarded_more_often(kuhn):
    torch.manual_seed(0)
    agents = [ppo._agent(kuhn, seat) for seat in (0, 1)]
    before = ppo.probabilities(kuhn, agents)[0, 1]
    queue = deque(decision(kuhn, float(i % 2), i % 2) for i in range(ppo.STEPS + 1))
    ppo._learn(agents[0], queue, 0.0)
    assert len(queue) == 1
    assert ppo.probabilities(kuhn, agents)[0, 1] > before + 0.02


def test_the_last_decision_of_each_seat_gets_the_payoff(kuhn):
    table = ppo.Table(kuhn.game, random.Random(0))
    for action in (1, 0):  # a bet, and a fold
        table.play(decision(kuhn, 0.0, action))
    first, second = table.ended()
    assert [(each.reward, each.done) for each in first + second] == [(1.0, True), (-1.0, True)]
    assert table.decisions == ([], [])
    assert table.ended() is None


@pytest.mark.parametrize(("method", "policy", "none"), [(ppo, "last", "average"), (nfsp, "average", "last")])
def test_a_training_ends_with_its_time_and_is_measured(method, policy, none, kuhn):
    meter = Meter(kuhn, 0.5, time.process_time())
    method.train(kuhn, 0, meter)
    assert meter.finished
    assert meter.points[-1]["seconds"] >= 0.5
    assert meter.points[-1]["steps"] > 0
    assert 0 < meter.points[-1][policy] < 2
    assert meter.points[-1][none] is None
