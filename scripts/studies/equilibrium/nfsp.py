"""Neural fictitious self-play of OpenSpiel, with the settings of its ``examples/nfsp_leduc_pytorch.py``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from open_spiel.python import rl_environment
from open_spiel.python.pytorch import nfsp

from scripts.studies.equilibrium.games import SEATS

if TYPE_CHECKING:
    from scripts.studies.equilibrium.games import F64, Tree
    from scripts.studies.equilibrium.meter import Meter

SOURCE: Final = "open_spiel/python/pytorch/nfsp.py, examples/nfsp_leduc_pytorch.py"
HIDDEN: Final = [128]
SETTINGS: Final[dict[str, Any]] = {
    "replay_buffer_capacity": 200_000,
    "reservoir_buffer_capacity": 2_000_000,
    "min_buffer_size_to_learn": 1000,
    "anticipatory_param": 0.1,
    "batch_size": 128,
    "learn_every": 64,
    "rl_learning_rate": 0.01,
    "sl_learning_rate": 0.01,
    "optimizer_str": "sgd",
    "loss_str": "mse",
    "update_target_network_every": 19_200,
    "discount_factor": 1.0,
    "epsilon_decay_duration": 20_000_000,
    "epsilon_start": 0.06,
    "epsilon_end": 0.001,
}


def train(tree: Tree, seed: int, meter: Meter) -> None:
    """Play and learn until the time is up."""
    chance = rl_environment.ChanceEventSampler(seed)
    env = rl_environment.Environment(tree.game, chance_event_sampler=chance)
    width, actions = env.observation_spec()["info_state"][0], env.action_spec()["num_actions"]
    agents = [nfsp.NFSP(seat, width, actions, HIDDEN, seed=seed, **SETTINGS) for seat in range(SEATS)]
    np.random.seed(seed)
    torch.manual_seed(seed)
    steps = 0
    while not meter.finished:
        steps += _episode(env, agents)
        if meter.due:
            meter.add(steps, average=partial(_average, tree, agents))


def _episode(env: Any, agents: list[Any]) -> int:  # noqa: ANN401
    """Play and learn from one game; the decisions in it."""
    now, decisions = env.reset(), 0
    while not now.last():
        output = agents[now.observations["current_player"]].step(now)
        now = env.step([output.action])
        decisions += 1
    for agent in agents:
        agent.step(now)
    return decisions


def _average(tree: Tree, agents: list[Any]) -> F64:
    """The average policy, which the method approximates by a network, [N, A]."""
    table = np.zeros(tree.legal.shape)
    for at, seat in enumerate(tree.seats):
        agent = agents[seat]
        seen = {"info_state": {seat: tree.tensors[at]}, "legal_actions": {seat: np.flatnonzero(tree.legal[at])}}
        now = rl_environment.TimeStep(seen, None, None, rl_environment.StepType.MID)
        with agent.temp_mode_as(nfsp.MODE.AVERAGE_POLICY):
            table[at] = agent.step(now, is_evaluation=True).probs
    return table
