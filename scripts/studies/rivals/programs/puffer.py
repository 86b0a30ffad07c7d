"""PufferLib's trainer on streams of the mock: its native vectorised environment, one agent a stream.

Its own choices stay: rewards are clipped to [-1, 1], advantages are computed again for each minibatch, and minibatches
are whole streams, drawn each time. Priorities are off (alpha 0), as are its recurrent network and its Muon optimiser.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pufferlib
import torch
from numpy.typing import NDArray
from pufferlib.pufferl import PuffeRL
from torch import Tensor, nn

from scripts.studies.rivals.programs.job import Job, Laps, asked
from scripts.studies.rivals.programs.streams import Streams
from scripts.studies.rivals.programs.weights import CLASSES, LOGITS, Layers, dense, linear

Answer = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], list[dict[str, Any]]]


class StreamsEnv(pufferlib.PufferEnv):
    """All streams; results of a step are written into the buffers of the trainer."""

    metadata: ClassVar[dict[str, Any]] = {}

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self.single_observation_space = streams.observation_space
        self.single_action_space = streams.action_space
        self.num_agents = streams.num_streams
        super().__init__()

    def reset(self, seed: int | None = None) -> tuple[NDArray[Any], list[dict[str, Any]]]:
        """Start all games."""
        self.observations[:] = self._streams.reset()
        return self.observations, []

    def step(self, actions: NDArray[Any]) -> Answer:
        step = self._streams.step(actions)
        self.observations[:], self.rewards[:] = step.obs, step.reward
        self.terminals[:] = step.terminated | step.truncated
        return self.observations, self.rewards, self.terminals, self.truncations, []


class Policy(nn.Module):
    """The shared trunk, actor and critic."""

    def __init__(self, width: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.trunk = dense(width, hidden)
        self.actor = nn.Linear(hidden[-1], LOGITS)
        self.critic = nn.Linear(hidden[-1], 1)

    def forward(self, obs: Tensor, state: Any = None) -> tuple[tuple[Tensor, ...], Tensor]:  # noqa: ANN401
        """Logits of each part of an action, and values."""
        features = self.trunk(obs)
        return torch.split(self.actor(features), list(CLASSES), dim=1), self.critic(features)

    forward_eval = forward


class Trainer(PuffeRL):
    """The trainer without its dashboard, which is drawn four times a second."""

    def print_dashboard(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Draw nothing."""


def settings(job: Job) -> dict[str, Any]:
    """Configuration of PuffeRL."""
    never = 10**12
    return {
        "env": "mock",
        "seed": job.seed,
        "torch_deterministic": False,
        "cpu_offload": False,
        "device": "cpu",
        "optimizer": "adam",
        "anneal_lr": False,
        "precision": "float32",
        "total_timesteps": never,
        "learning_rate": job.learning_rate,
        "gamma": job.gamma,
        "gae_lambda": job.gae_lambda,
        "update_epochs": job.epochs,
        "clip_coef": job.clip,
        "vf_coef": job.value_coefficient,
        "vf_clip_coef": job.value_clip,
        "max_grad_norm": job.max_grad_norm,
        "ent_coef": job.entropy_coefficient,
        "adam_beta1": 0.9,
        "adam_beta2": 0.999,
        "adam_eps": 1e-8,
        "data_dir": "unused",
        "checkpoint_interval": never,
        "batch_size": job.rows,
        "minibatch_size": job.minibatch,
        "max_minibatch_size": job.minibatch,
        "bptt_horizon": job.rollout,
        "compile": job.variant == "compiled",
        "compile_mode": "default",
        "compile_fullgraph": True,
        "vtrace_rho_clip": 1.0,
        "vtrace_c_clip": 1.0,
        "prio_alpha": 0.0,
        "prio_beta0": 1.0,
        "use_rnn": False,
    }


def main() -> None:
    """Train and print the times."""
    job = asked()
    torch.set_num_threads(job.threads)
    torch.manual_seed(job.seed)
    np.random.seed(job.seed)
    streams = Streams(job.games, job.seats, job.seed, **job.game)
    policy = Policy(streams.observation_space.shape[0], job.hidden)
    layers = Layers(linear(policy.trunk), policy.actor, policy.critic)
    layers.read(job.weights)
    trainer, laps = Trainer(settings(job), StreamsEnv(streams), policy), Laps()
    for _ in range(job.iterations):
        laps.begin()
        trainer.evaluate()
        trainer.train()
        laps.end()
    trainer.utilization.stopped = True
    laps.answer(pufferlib.__version__)


if __name__ == "__main__":
    main()
