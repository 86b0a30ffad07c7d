"""Stable-Baselines3's PPO on streams of the mock.

Trunk and heads are those of our network: the trunk is the features extractor, shared by actor and critic, which have
one linear layer each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import stable_baselines3
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv

from scripts.studies.rivals.programs.job import Job, Laps, asked
from scripts.studies.rivals.programs.streams import Step, Streams
from scripts.studies.rivals.programs.weights import Layers, dense, linear


class Rows(Protocol):
    """What ``Environment`` needs of streams."""

    num_streams: int
    observation_space: Any
    action_space: Any

    def reset(self) -> NDArray[np.float32]: ...

    def step(self, actions: NDArray[Any]) -> Step: ...


class Environment(VecEnv):
    """All streams as one vectorised environment."""

    def __init__(self, streams: Rows) -> None:
        self._streams = streams
        self._chosen: NDArray[Any] = np.zeros(0)
        self.render_mode = None
        super().__init__(streams.num_streams, streams.observation_space, streams.action_space)

    def reset(self) -> NDArray[np.float32]:
        return self._streams.reset()

    def step_async(self, actions: NDArray[Any]) -> None:
        self._chosen = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        step = self._streams.step(self._chosen)
        done = step.terminated | step.truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(done):
            infos[i] = {"terminal_observation": step.final_obs[i], "TimeLimit.truncated": bool(step.truncated[i])}
        return step.obs, step.reward, done, infos

    def close(self) -> None:
        """Close nothing."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:  # noqa: ANN401
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:  # noqa: ANN401
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:  # noqa: ANN401
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ANN401
        return [False] * self.num_envs


class Trunk(BaseFeaturesExtractor):
    """Dense layers, each with an activation."""

    def __init__(
        self,
        observation_space: Any,  # noqa: ANN401
        hidden: Sequence[int],
        activation: type[torch.nn.Module] = torch.nn.Tanh,
    ) -> None:
        super().__init__(observation_space, hidden[-1])
        self.layers = dense(observation_space.shape[0], hidden, activation)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self.layers(observations)
        return features


class Timer(BaseCallback):
    """Times iterations; an update ends where the next rollout begins."""

    def __init__(self, laps: Laps) -> None:
        super().__init__()
        self._laps = laps

    def _on_rollout_start(self) -> None:
        if self.num_timesteps:
            self._laps.end()
        self._laps.begin()

    def _on_step(self) -> bool:
        return True


def arguments(job: Job) -> dict[str, Any]:
    """Arguments of PPO for the coefficients and the network of a job."""
    return {
        "learning_rate": job.learning_rate,
        "n_steps": job.rollout,
        "batch_size": job.minibatch,
        "n_epochs": job.epochs,
        "gamma": job.gamma,
        "gae_lambda": job.gae_lambda,
        "clip_range": job.clip,
        "clip_range_vf": job.value_clip,
        "ent_coef": job.entropy_coefficient,
        "vf_coef": job.value_coefficient / 2,  # its loss has no factor 1/2
        "max_grad_norm": job.max_grad_norm,
        "policy_kwargs": {
            "features_extractor_class": Trunk,
            "features_extractor_kwargs": {"hidden": job.hidden},
            "net_arch": [],
        },
        "seed": job.seed,
        "device": "cpu",
    }


def main() -> None:
    """Train and print the times."""
    job = asked()
    torch.set_num_threads(job.threads)
    model = PPO("MlpPolicy", Environment(Streams(job.games, job.seats, job.seed, **job.game)), **arguments(job))
    policy: Any = model.policy
    Layers(linear(policy.features_extractor.layers), policy.action_net, policy.value_net).read(job.weights)
    laps = Laps()
    model.learn(job.steps, callback=Timer(laps))
    laps.end()
    laps.answer(stable_baselines3.__version__)


if __name__ == "__main__":
    main()
