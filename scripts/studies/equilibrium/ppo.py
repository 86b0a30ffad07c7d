"""PPO of OpenSpiel in self-play: an agent for each seat, with the settings of its ``examples/ppo_example.py``.

The agent is written for a single seat in games of one length. Here both seats play in the same games, and an agent
learns from its own decisions in complete games, one after another, as many as its example has in a batch.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from open_spiel.python.pytorch.ppo import PPO, PPOAgent

from scripts.studies.equilibrium.games import SEATS

if TYPE_CHECKING:
    from scripts.studies.equilibrium.games import F64, Tree
    from scripts.studies.equilibrium.meter import Meter

SOURCE: Final = "open_spiel/python/pytorch/ppo.py, examples/ppo_example.py"
GAMES_AT_ONCE: Final = 8
STEPS: Final = GAMES_AT_ONCE * 128  # decisions of a batch
SETTINGS: Final[dict[str, Any]] = {
    "num_minibatches": 4,
    "update_epochs": 4,
    "learning_rate": 2.5e-4,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_coef": 0.1,
    "entropy_coef": 0.01,
    "value_coef": 0.5,
    "max_grad_norm": 0.5,
}


@dataclass(slots=True)
class Decision:
    """A decision of a seat; ``reward`` and ``done`` are known when its game has ended or gone on."""

    obs: torch.Tensor
    legal: torch.Tensor
    action: torch.Tensor
    logprob: torch.Tensor
    value: torch.Tensor
    reward: float = 0.0
    done: bool = False


class Table:
    """A game that is played again and again, and the decisions of both seats in its current episode."""

    def __init__(self, game: Any, rng: random.Random) -> None:  # noqa: ANN401
        self._game, self._rng = game, rng
        self.reset()

    def reset(self) -> None:
        self.state = self._game.new_initial_state()
        self.decisions: tuple[list[Decision], ...] = ([], [])
        self._deal()

    def play(self, decision: Decision) -> None:
        """Play an action of the seat that is to act."""
        self.decisions[self.state.current_player()].append(decision)
        self.state.apply_action(int(decision.action))
        self._deal()

    def _deal(self) -> None:
        while self.state.is_chance_node():
            actions, weights = zip(*self.state.chance_outcomes(), strict=True)
            self.state.apply_action(self._rng.choices(actions, weights)[0])

    def ended(self) -> tuple[list[Decision], ...] | None:
        """The decisions of each seat with their rewards, if the game has ended; then the next one begins."""
        if not self.state.is_terminal():
            return None
        decisions, returns = self.decisions, self.state.returns()
        for own, reward in zip(decisions, returns, strict=True):
            if own:
                own[-1].reward, own[-1].done = reward, True
        self.reset()
        return decisions


def train(tree: Tree, seed: int, meter: Meter) -> None:
    """Train both agents until the time is up."""
    rng = random.Random(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    agents = [_agent(tree, seat) for seat in range(SEATS)]
    tables = [Table(tree.game, rng) for _ in range(GAMES_AT_ONCE)]
    waiting: list[deque[Decision]] = [deque() for _ in range(SEATS)]
    steps = 0
    while not meter.finished:
        steps += _play(agents, tables)
        for table in tables:
            for queue, own in zip(waiting, table.ended() or (), strict=False):
                queue.extend(own)
        for agent, queue in zip(agents, waiting, strict=True):
            if len(queue) > STEPS:
                _learn(agent, queue, min(meter.seconds / meter.budget_s, 0.999))
        if meter.due:
            meter.add(steps, partial(probabilities, tree, agents))


def _agent(tree: Tree, seat: int) -> Any:  # noqa: ANN401
    shape = tuple(tree.game.information_state_tensor_shape())
    width = (int(np.prod(shape)),)
    return PPO(
        width, tree.game.num_distinct_actions(), SEATS, seat, num_envs=1, steps_per_batch=STEPS, agent_fn=PPOAgent,
        **SETTINGS,
    )  # fmt: skip


def _play(agents: list[Any], tables: list[Table]) -> int:
    """A decision at every table; how many there were."""
    for seat, agent in enumerate(agents):
        own = [table for table in tables if table.state.current_player() == seat]
        if not own:
            continue
        obs = torch.tensor(np.array([table.state.information_state_tensor() for table in own], np.float32))
        legal = torch.tensor(np.array([table.state.legal_actions_mask() for table in own], np.bool_))
        with torch.no_grad():
            action, logprob, _, value, _ = agent.get_action_and_value(obs, legal)
        for table, *row in zip(own, obs, legal, action, logprob, value, strict=True):
            table.play(Decision(*row))
    return len(tables)


def _learn(agent: Any, queue: deque[Decision], spent: float) -> None:  # noqa: ANN401
    """Put a batch where the agent keeps its own decisions, and let it learn; ``spent`` anneals its learning rate."""
    batch = [queue.popleft() for _ in range(STEPS)]
    agent.obs[:, 0] = torch.stack([each.obs for each in batch])
    agent.legal_actions_mask[:, 0] = torch.stack([each.legal for each in batch])
    agent.actions[:, 0] = torch.stack([each.action for each in batch])
    agent.logprobs[:, 0] = torch.stack([each.logprob for each in batch])
    agent.values[:, 0] = torch.stack([each.value for each in batch]).flatten()
    agent.rewards[:, 0] = torch.tensor([each.reward for each in batch])
    agent.dones[:, 0] = torch.tensor([each.done for each in batch])
    following = SimpleNamespace(observations={"info_state": {agent.player_id: queue[0].obs.numpy()}})
    agent.anneal_learning_rate(spent, 1.0)
    agent.learn([following])


def probabilities(tree: Tree, agents: list[Any]) -> F64:
    """The policy of both agents, [N, A]."""
    table = np.zeros(tree.legal.shape)
    with torch.no_grad():
        for seat, agent in enumerate(agents):
            own = tree.seats == seat
            legal = torch.tensor(tree.legal[own])
            *_, probs = agent.get_action_and_value(torch.tensor(tree.tensors[own]), legal)
            table[own] = probs.numpy()
    return table
