"""MaskablePPO of Stable-Baselines3's contributions on PettingZoo's Connect Four; one policy plays both seats."""

from __future__ import annotations

from typing import Any

import sb3_contrib
import torch
from sb3_contrib import MaskablePPO

from scripts.studies.rivals.programs.boards import SPENT, Boards, answer, timed
from scripts.studies.rivals.programs.job import Laps, asked
from scripts.studies.rivals.programs.sb3 import Environment, Timer, Trunk
from scripts.studies.rivals.programs.weights import Layers, linear


class MaskedEnvironment(Environment):
    """All games as one vectorised environment with masks."""

    reset = timed("block", Environment.reset)
    step_wait = timed("block", Environment.step_wait)

    def __init__(self, boards: Any) -> None:  # noqa: ANN401
        super().__init__(boards)
        self._boards = boards

    def action_masks(self) -> list[Any]:
        """Legal columns of each game."""
        return list(self._boards.masks)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:  # noqa: ANN401
        """The masks; nothing else is supported."""
        if method_name != "action_masks":
            raise NotImplementedError
        return self.action_masks()


class PartTimer(Timer):
    """Times the games, too."""

    def end(self) -> None:
        """End an iteration."""
        super().end()
        SPENT.lap()


def main() -> None:
    """Train and print the times."""
    job = asked()
    torch.set_num_threads(job.threads)
    model = MaskablePPO(
        "MlpPolicy",
        MaskedEnvironment(Boards(job.games)),
        learning_rate=job.learning_rate,
        n_steps=job.rollout,
        batch_size=job.minibatch,
        n_epochs=job.epochs,
        gamma=-job.gamma,  # see ``Boards``
        gae_lambda=job.gae_lambda,
        clip_range=job.clip,
        clip_range_vf=job.value_clip,
        ent_coef=job.entropy_coefficient,
        vf_coef=job.value_coefficient / 2,  # its loss has no factor 1/2
        max_grad_norm=job.max_grad_norm,
        policy_kwargs={
            "features_extractor_class": Trunk,
            "features_extractor_kwargs": {"hidden": job.hidden, "activation": torch.nn.ReLU},
            "net_arch": [],
        },
        seed=job.seed,
        device="cpu",
    )
    policy: Any = model.policy
    laps = Laps()
    layers = Layers(linear(policy.features_extractor.layers), policy.action_net, policy.value_net)
    timer = PartTimer(laps, layers, None)
    model.learn(job.steps, callback=timer)
    timer.end()
    answer(sb3_contrib.__version__, [job.rows] * job.iterations, laps)


if __name__ == "__main__":
    main()
