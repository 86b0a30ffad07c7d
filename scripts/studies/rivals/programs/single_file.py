"""PPO as in CleanRL's single files, on streams of the mock.

One process, one loop: numpy arrays from a vectorised environment, a fixed number of steps, advantages backwards over
them, epochs of shuffled minibatches; categoricals of torch, one a part of the action; Adam with epsilon 1e-5,
advantages normalised in each minibatch, clipped value loss. As there, truncated episodes count as terminated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from scripts.studies.rivals.programs.job import Job, Laps, asked
from scripts.studies.rivals.programs.streams import Streams
from scripts.studies.rivals.programs.weights import CLASSES, LOGITS, Layers, dense, linear

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Agent(nn.Module):
    """A shared trunk, an actor and a critic."""

    def __init__(self, width: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.trunk = dense(width, hidden)
        self.actor = nn.Linear(hidden[-1], LOGITS)
        self.critic = nn.Linear(hidden[-1], 1)

    def forward(self, obs: Tensor, action: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Action, its log-probability, entropy and value, [N, ...]; the action is drawn where none is given."""
        features = self.trunk(obs)
        parts: list[Any] = [
            Categorical(logits=logits, validate_args=False)
            for logits in torch.split(self.actor(features), list(CLASSES), dim=1)
        ]
        if action is None:
            action = torch.stack([part.sample() for part in parts], 1)
        logprob = torch.stack([part.log_prob(action[:, i]) for i, part in enumerate(parts)]).sum(0)
        entropy = torch.stack([part.entropy() for part in parts]).sum(0)
        return action, logprob, entropy, self.critic(features).flatten()


@dataclass(slots=True)
class Storage:
    """Arrays of a rollout, [T, N, ...]."""

    obs: Tensor
    action: Tensor
    logprob: Tensor
    reward: Tensor
    done: Tensor  # whether an episode had ended before this step
    value: Tensor

    @classmethod
    def empty(cls, steps: int, streams: int, width: int) -> Storage:
        """Room for a rollout."""
        shape = (steps, streams)
        return cls(
            torch.zeros(*shape, width),
            torch.zeros(*shape, len(CLASSES), dtype=torch.int64),
            *(torch.zeros(shape) for _ in range(4)),
        )


class Training:
    """The loop."""

    def __init__(self, job: Job) -> None:
        torch.manual_seed(job.seed)
        self._rng = np.random.default_rng(job.seed)
        self._job = job
        self._streams = Streams(job.games, job.seats, job.seed, **job.game)
        width = self._streams.observation_space.shape[0]
        self._agent = Agent(width, job.hidden)
        self._optimizer = torch.optim.Adam(self._agent.parameters(), lr=job.learning_rate, eps=1e-5)
        self._storage = Storage.empty(job.rollout, job.streams, width)
        self._obs = torch.from_numpy(self._streams.reset())
        self._done = torch.zeros(job.streams)

    @property
    def layers(self) -> Layers:
        """Linear layers of the network."""
        return Layers(linear(self._agent.trunk), self._agent.actor, self._agent.critic)

    @torch.no_grad()
    def collect(self) -> None:
        """Play a rollout."""
        storage = self._storage
        for t in range(self._job.rollout):
            storage.obs[t], storage.done[t] = self._obs, self._done
            action, storage.logprob[t], _, storage.value[t] = self._agent(self._obs)
            storage.action[t] = action
            step = self._streams.step(action.numpy())
            storage.reward[t] = torch.from_numpy(step.reward)
            self._obs = torch.from_numpy(step.obs)
            self._done = torch.from_numpy((step.terminated | step.truncated).astype(np.float32))

    @torch.no_grad()
    def advantages(self) -> Tensor:
        """Generalised advantage estimates [T, N]."""
        storage, job = self._storage, self._job
        value, done = self._agent(self._obs)[3], self._done
        result = torch.zeros_like(storage.reward)
        last = torch.zeros(job.streams)
        for t in reversed(range(job.rollout)):
            going_on = 1.0 - done
            delta = storage.reward[t] + job.gamma * value * going_on - storage.value[t]
            last = delta + job.gamma * job.gae_lambda * going_on * last
            result[t] = last
            value, done = storage.value[t], storage.done[t]
        return result

    def update(self) -> None:
        """Learn from what was collected."""
        job, storage = self._job, self._storage
        advantages = self.advantages().flatten()
        target = advantages + storage.value.flatten()
        flat = [storage.obs.flatten(0, 1), storage.action.flatten(0, 1), storage.logprob.flatten()]
        columns = [*flat, advantages, target, storage.value.flatten()]
        for _ in range(job.epochs):
            order: NDArray[np.int64] = self._rng.permutation(job.rows)
            for start in range(0, job.rows, job.minibatch):
                rows = torch.from_numpy(order[start : start + job.minibatch])
                self._minibatch(*(column[rows] for column in columns))

    def _minibatch(
        self, obs: Tensor, action: Tensor, before: Tensor, advantage: Tensor, target: Tensor, old: Tensor
    ) -> None:
        job = self._job
        _, logprob, entropy, value = self._agent(obs, action)
        ratio = (logprob - before).exp()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        clipped = ratio.clamp(1 - job.clip, 1 + job.clip)
        policy_loss = torch.max(-advantage * ratio, -advantage * clipped).mean()
        near = old + (value - old).clamp(-job.value_clip, job.value_clip)
        value_loss = 0.5 * torch.max((value - target) ** 2, (near - target) ** 2).mean()
        loss = policy_loss - job.entropy_coefficient * entropy.mean() + job.value_coefficient * value_loss
        self._optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._agent.parameters(), job.max_grad_norm)
        self._optimizer.step()


def main() -> None:
    """Train and print the times."""
    job = asked()
    torch.set_num_threads(job.threads)
    training, laps = Training(job), Laps()
    training.layers.read(job.weights)
    for _ in range(job.iterations):
        laps.begin()
        training.collect()
        training.update()
        laps.end()
    laps.answer(f"own words, torch {torch.__version__}")


if __name__ == "__main__":
    main()
