"""The learner of a run: network and optimizer, and their state. Its methods block; call them from one thread."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import torch

from selfplay.checkpoint import PolicyMeta, group
from selfplay.league.modes import MAIN
from selfplay.learner.ppo import PPO, PPOSettings
from selfplay.policy.network import build_network
from selfplay.policy.policy import frozen_copy, parameters_of, set_parameters
from selfplay.ppo.batch import make_batch
from selfplay.rollout.buffers import Workspace
from selfplay.run.learner_state import Arrays, check_finite, learner_arrays, restore_learner
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic
    from selfplay.ppo.session import Session
    from selfplay.rollout.rollout import Rollout
    from selfplay.update_metrics import UpdateMetrics


class Learner:
    """Owns the network that is trained; ``role`` is that of the agent, see ``agents.ROLES``."""

    def __init__(self, session: Session, threads: int, role: str = MAIN) -> None:
        config = session.config
        self._session = session
        self._anneal = config.ppo.anneal
        self._workspace = Workspace()  # of batches
        torch.set_num_threads(1)
        self.parent = session.start.meta.id if session.start is not None else None
        if session.start is None:
            generator = torch.Generator().manual_seed(derive(config.run.seed, "network"))
            share = getattr(config.net, "rest", 0.0)  # a setting of games whose actions can rest
            rest = session.game.actions.rest if share else ()
            network = build_network(session.network, session.heads, generator, rest, share)
        else:
            network = copy.deepcopy(session.start.network).requires_grad_(requires_grad=True).train()
        labels = ("minibatches",) if role == MAIN else ("minibatches", role)
        self._generator = torch.Generator().manual_seed(derive(config.run.seed, *labels))
        ppo, names = config.ppo, {field.name for field in fields(PPOSettings)}
        self._ppo = PPO(
            network.to(session.device),
            PPOSettings(**{name: value for name, value in ppo.model_dump(include=names).items() if value is not None}),
            threads=threads,
        )
        self._decay = ppo.average if role == MAIN else 0.0
        self.average = self.snapshot() if self._decay else None
        """Exponential moving average of the weights, a new network after each update; None if there is none."""

    def update(
        self,
        rollouts: Sequence[Rollout],
        age: int,
        done: float,
        stop: Callable[[], bool] = lambda: False,
    ) -> UpdateMetrics:
        """Learn from the rollouts of an iteration; ``stop`` ends the update early, see ``PPO.update``.

        ``age`` is the number of iterations since the weights were those of the pretrained policy, for the burn-in of
        the critic, and ``done`` the fraction of the run that is done, for annealing.
        """
        ppo = self._session.config.ppo
        burn_in = ppo.critic_burn_in or 0
        if burn_in and age == burn_in:
            self._ppo.forget_gradients()
        self._ppo.scale(1.0 if self._anneal == "no" else 1.0 - 0.9 * done, rate_only=self._anneal == "rate")
        batch = make_batch(rollouts, ppo.gamma, ppo.gae_lambda, self._ppo.device, self._workspace)
        metrics = self._ppo.update(batch, self._generator, stop, critic_only=age < burn_in)
        if self.average is not None:
            # at first the plain mean, so that the initial weights have no part in it
            self.average = _between(self.average, self._ppo.network, max(1 - self._decay, 1 / (age + 1)))
        return metrics

    @property
    def network(self) -> ActorCritic:
        return self._ppo.network

    def snapshot(self) -> ActorCritic:
        return frozen_copy(self._ppo.network)

    def arrays(self) -> Arrays:
        average = {} if self.average is None else parameters_of(self.average)
        arrays = learner_arrays(self._ppo, self._generator)
        return arrays | {f"average/{name}": array for name, array in average.items()}

    def restore(self, arrays: Arrays) -> None:
        restore_learner(self._ppo, self._generator, arrays)
        if self.average is not None:
            self.average = self.snapshot()
            set_parameters(self.average, group(arrays, "average"))

    def begin(self, network: ActorCritic) -> None:
        """Load the weights of another network and reset the optimizer."""
        self._ppo.begin(network.state_dict())

    def policy(self, name: str, iteration: int, total_steps: int, parent: str | None) -> tuple[PolicyMeta, Arrays]:
        """Metadata and weights of the current policy, or of its average; LearnerError if a weight is not finite."""
        check_finite(self._ppo.network)
        session = self._session
        game = session.config.game
        meta = PolicyMeta(
            id=name,
            parent=parent if parent is not None else self.parent,
            iteration=iteration,
            total_steps=total_steps,
            network=session.network,
            actions=session.heads,
            encoder_version=session.game.encoder_version,
            game=game.type,
            body=asdict(game.body),
            created=datetime.now(UTC),
            config=session.config.model_dump(mode="json"),
        )
        return meta, parameters_of(self._ppo.network if self.average is None else self.average)

    def close(self) -> None:
        self._ppo.close()


@torch.no_grad()
def _between(start: ActorCritic, end: ActorCritic, share: float) -> ActorCritic:
    """A new network whose weights lie between those of two others, at this share of the way."""
    network = frozen_copy(start)
    for weight, other in zip(network.parameters(), end.parameters(), strict=True):
        weight.lerp_(other, share)
    return network
