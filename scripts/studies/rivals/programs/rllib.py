"""RLlib's PPO on streams of the mock: its new API stack, with our vectorised environment in one process.

Its sampler resets in a step of its own. The games do not wait for it: they play this step of the new episode with
neutral inputs, and its results are dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import ray
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.tune.registry import register_env
from torch import nn

from scripts.studies.rivals.programs.job import Job, Laps, asked
from scripts.studies.rivals.programs.streams import Streams
from scripts.studies.rivals.programs.weights import LOGITS, Layers
from selfplay_melee.controller import NEUTRAL

Answer = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]


class StreamsEnv(VectorEnv[NDArray[np.float32], NDArray[Any], NDArray[Any]]):
    """All streams as one vectorised environment."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 Gymnasium declares it so

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self.num_envs = streams.num_streams
        self.single_observation_space = streams.observation_space
        self.single_action_space = streams.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._ended = np.zeros(self.num_envs, np.bool_)

    def reset(self, **kwargs: Any) -> tuple[NDArray[np.float32], dict[str, Any]]:  # noqa: ANN401
        """Start all games."""
        self._ended[:] = False
        return self._streams.reset(), {}

    def step(self, actions: NDArray[Any]) -> Answer:
        """Play a step; streams whose episode ended in the last one begin a new one."""
        begins = self._ended
        step = self._streams.step(np.where(begins[:, None], NEUTRAL, np.asarray(actions)))
        terminated, truncated = step.terminated & ~begins, step.truncated & ~begins
        self._ended = terminated | truncated
        if self._ended.any():
            step.obs[self._ended] = step.final_obs[self._ended]
        step.reward[begins] = 0.0
        return step.obs, step.reward, terminated, truncated, {}


def config_of(job: Job) -> PPOConfig:
    register_env("mock", lambda _: StreamsEnv(Streams(job.games, job.seats, job.seed, **job.game)))
    return (
        PPOConfig()
        .environment("mock")
        .framework("torch")
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=job.streams,
            rollout_fragment_length=job.rollout,
            gym_env_vectorize_mode="vector_entry_point",
        )
        .learners(num_learners=0)
        .rl_module(
            model_config=DefaultModelConfig(
                fcnet_hiddens=list(job.hidden),
                fcnet_activation="tanh",
                head_fcnet_hiddens=[],
                vf_share_layers=True,
            )
        )
        .training(
            lr=job.learning_rate,
            gamma=job.gamma,
            lambda_=job.gae_lambda,
            train_batch_size_per_learner=job.rows,
            minibatch_size=job.minibatch,
            num_epochs=job.epochs,
            clip_param=job.clip,
            vf_clip_param=1e9,  # it clips the squared error instead of the value
            vf_loss_coeff=job.value_coefficient / 2,  # its loss has no factor 1/2
            entropy_coeff=job.entropy_coefficient,
            use_kl_loss=False,
            grad_clip=job.max_grad_norm,
            grad_clip_by="global_norm",
        )
        .debugging(seed=job.seed, log_level="ERROR")
    )


def layers_of(module: Any) -> Layers:  # noqa: ANN401
    """The linear layers of its network."""
    parts = [part for part in module.modules() if isinstance(part, nn.Linear)]
    (actor,) = (part for part in parts if part.out_features == LOGITS)
    (critic,) = (part for part in parts if part.out_features == 1)
    trunk = tuple(part for part in parts if part is not actor and part is not critic)
    return Layers(trunk, actor, critic)


def main() -> None:
    """Train and print the times."""
    job = asked()
    ray.init(num_cpus=job.threads, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    algorithm = config_of(job).build_algo()
    torch.set_num_threads(job.threads)
    learners = algorithm.learner_group
    layers = layers_of(learners._learner.module[DEFAULT_MODULE_ID])
    layers.read(job.weights)
    algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=learners, inference_only=True)
    laps = Laps()
    for _ in range(job.iterations):
        laps.begin()
        algorithm.train()
        laps.end()
    laps.answer(ray.__version__)
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
