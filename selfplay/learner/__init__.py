"""Gradient estimators as functions of tensors and arrays: GAE, PPO and GRPO. None of them knows a game or a run.

See docs/trainer/learner.md. Attributes are loaded lazily, except ``gae``, whose module has its name.
"""

from typing import TYPE_CHECKING

from selfplay.learner.gae import gae as gae

if TYPE_CHECKING:
    from selfplay.learner.advantages import group_advantages as group_advantages
    from selfplay.learner.batch import Batch as Batch
    from selfplay.learner.grpo_loss import clipped_loss as clipped_loss
    from selfplay.learner.grpo_loss import entropy_of as entropy_of
    from selfplay.learner.grpo_loss import k3 as k3
    from selfplay.learner.grpo_loss import token_logprobs as token_logprobs
    from selfplay.learner.grpo_loss import truncated_importance as truncated_importance
    from selfplay.learner.ppo import PPO as PPO
    from selfplay.learner.ppo import PPOSettings as PPOSettings
    from selfplay.learner.ppo import loss_gradient as loss_gradient
    from selfplay.learner.ppo import reference_terms as reference_terms
    from selfplay.learner.ppo import surrogate_terms as surrogate_terms
    from selfplay.learner.sampling import Sampling as Sampling
    from selfplay.policy.heads import Heads as Heads

_HOMES = {
    "Batch": "selfplay.learner.batch",
    "Heads": "selfplay.policy.heads",
    "Sampling": "selfplay.learner.sampling",
    "group_advantages": "selfplay.learner.advantages",
    **dict.fromkeys(
        ("PPO", "PPOSettings", "loss_gradient", "reference_terms", "surrogate_terms"), "selfplay.learner.ppo"
    ),
    **dict.fromkeys(
        ("clipped_loss", "entropy_of", "k3", "token_logprobs", "truncated_importance"), "selfplay.learner.grpo_loss"
    ),
}
__all__ = ["gae", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'selfplay.learner' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
