"""Sample Factory's PPO on streams of the mock: one batched environment with an agent a stream.

Variant ``serial`` uses one process, ``workers`` one process for rollouts and one for learning.
"""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from gymnasium import Env, spaces
from numpy.typing import NDArray
from sample_factory.algo.runners.runner import AlgoObserver
from sample_factory.algo.utils.context import global_model_factory
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.model.actor_critic import default_make_actor_critic_func
from sample_factory.train import make_runner

from scripts.studies.rivals.programs.job import Job, Laps, asked
from scripts.studies.rivals.programs.streams import Streams
from scripts.studies.rivals.programs.weights import CLASSES, Layers

Answer = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], list[dict[str, Any]]]


class StreamsEnv(Env[NDArray[np.float32], NDArray[Any]]):
    """All streams as the agents of one environment."""

    is_multiagent = True

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self.num_agents = streams.num_streams
        self.observation_space = streams.observation_space
        self.action_space: Any = spaces.Tuple([spaces.Discrete(size) for size in CLASSES])
        self._no_infos: list[dict[str, Any]] = [{} for _ in range(self.num_agents)]

    def reset(self, **kwargs: Any) -> tuple[NDArray[np.float32], Any]:  # noqa: ANN401
        return self._streams.reset(), self._no_infos

    def step(self, actions: NDArray[Any]) -> Answer:  # type: ignore[override]
        step = self._streams.step(actions)
        return step.obs, step.reward, step.terminated, step.truncated, self._no_infos

    def render(self) -> None:
        """Render nothing."""


class Timer(AlgoObserver):
    """Times iterations, from the end of an update to the end of the next."""

    def __init__(self, laps: Laps) -> None:
        self._laps = laps

    def on_start(self, runner: Any) -> None:  # noqa: ANN401
        """Begin the first iteration."""
        self._laps.begin()

    def on_training_step(self, runner: Any, training_iteration_since_resume: int) -> None:  # noqa: ANN401
        """End an iteration and begin the next."""
        self._laps.end()
        self._laps.begin()


def layers_of(model: Any) -> Layers:  # noqa: ANN401
    """The linear layers of its network; the trunk is compiled, so its layers have another type."""
    trunk = [part for part in model.encoder.modules() if getattr(part, "original_name", "") == "Linear"]
    return Layers(tuple(trunk), model.action_parameterization.distribution_linear, model.critic_linear)


def words(job: Job, folder: str) -> list[str]:
    """Arguments of Sample Factory."""
    values: dict[str, object] = {
        "env": "mock",
        "experiment": "bench",
        "train_dir": folder,
        "restart_behavior": "overwrite",
        "device": "cpu",
        "seed": job.seed,
        "async_rl": job.variant == "workers",
        "serial_mode": job.variant != "workers",
        "batched_sampling": True,
        "num_workers": 1,
        "num_envs_per_worker": 1,
        "worker_num_splits": 1,
        "policy_workers_per_policy": 1,
        "rollout": job.rollout,
        "batch_size": job.minibatch,
        "num_batches_per_epoch": job.rows // job.minibatch,
        "num_batches_to_accumulate": 1,
        "num_epochs": job.epochs,
        "shuffle_minibatches": True,
        "gamma": job.gamma,
        "gae_lambda": job.gae_lambda,
        "ppo_clip_ratio": job.clip,
        "ppo_clip_value": job.value_clip,
        "value_loss_coeff": job.value_coefficient / 2,  # its loss has no factor 1/2
        "exploration_loss_coeff": job.entropy_coefficient,
        "max_grad_norm": job.max_grad_norm,
        "learning_rate": job.learning_rate,
        "value_bootstrap": True,
        "normalize_input": False,
        "normalize_returns": False,
        "use_rnn": False,
        "nonlinearity": "tanh",
        "env_gpu_observations": False,
        "set_workers_cpu_affinity": False,
        "train_for_env_steps": job.steps - 1,
        "save_every_sec": 10**9,
        "save_best_every_sec": 10**9,
        "log_to_file": False,
    }
    listed = [f"--{name}={value}" for name, value in values.items()]
    return [*listed, "--encoder_mlp_layers", *map(str, job.hidden)]


def make_games(*arguments: Any, **options: Any) -> StreamsEnv:  # noqa: ANN401
    """The environment; worker processes have the same command line."""
    job = asked()
    return StreamsEnv(Streams(job.games, job.seats, job.seed, **job.game))


def make_model(*arguments: Any) -> Any:  # noqa: ANN401
    """Its network, with the first weights."""
    job, model = asked(), default_make_actor_critic_func(*arguments)
    torch.set_num_threads(job.threads)  # worker processes have their own default
    layers_of(model).read(job.weights)
    return model


def main() -> None:
    """Train and print the times."""
    job, laps = asked(), Laps()
    register_env("mock", make_games)
    global_model_factory().register_actor_critic_factory(make_model)
    with tempfile.TemporaryDirectory() as folder:
        line = words(job, folder)
        _, runner = make_runner(parse_full_cfg(parse_sf_args(line)[0], line))
        runner.register_observer(Timer(laps))
        runner.init()
        torch.set_num_threads(job.threads)  # Sample Factory has changed it
        runner.run()
    laps.answer(version("sample-factory"))


if __name__ == "__main__":
    main()
