"""The loss of proximal policy optimisation, of one chunk of a minibatch.

    ratio = pi(a|s) / pi_old(a|s)
    policy = -min(ratio A, clip(ratio, 1-c, 1+c) A)
    value  = 1/2 max((V - R)^2, (V_old + clip(V - V_old, -v, v) - R)^2)
    loss   = policy + c_v value - c_e entropy + c_t KL(teacher, pi) + c_r KL(pi, teacher)

with A the normalised advantage and R the target (Schulman et al. 2017, https://arxiv.org/abs/1707.06347).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from selfplay.policy.heads import divergence, logprob_entropy, masked

if TYPE_CHECKING:
    from selfplay.learner.batch import Batch
    from selfplay.policy.network import ActorCritic


@dataclass(frozen=True, slots=True)
class PPOSettings:
    """Coefficients of the update; the names are the command line's."""

    epochs: int = 4
    batch_size: int = 2048
    clip: float = 0.2
    learning_rate: float = 3e-4
    value_clip: float = 1.0
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.003
    max_grad_norm: float = 0.5
    target_kl: float = 0.0  # 0 = no early stop
    step_kl: float = 0.0  # an update whose mean KL is greater is taken back; 0 = never
    teacher_kl: float = 0.0  # weight of KL(teacher, policy)
    teacher_kl_reverse: float = 0.0  # weight of KL(policy, teacher)

    def loss_of(self, parts: Mapping[str, float]) -> float:
        """The loss of its parts, by the names of LOSS_PARTS; see ``chunk_loss``."""
        return (
            parts["policy_loss"]
            + self.value_coefficient * parts["value_loss"]
            - self.entropy_coefficient * parts["entropy"]
            + self.teacher_kl * parts["teacher_kl"]
            + self.teacher_kl_reverse * parts["teacher_kl_reverse"]
        )


# Sums over the decisions of a chunk, in the order of LOSS_PARTS.
LOSS_PARTS = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "teacher_kl", "teacher_kl_reverse")


def outputs(network: ActorCritic, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits [N, L], masked, and values [N] of the decisions of ``batch.flat()``."""
    if batch.memory is None or batch.fresh is None or batch.mine is None:
        logits, value = network(batch.obs)
    else:
        logits, value, _ = network.unroll(batch.obs, batch.memory, batch.fresh)
        logits, value = logits[batch.mine], value[batch.mine]
        batch = batch.flat()
    return masked(logits, batch.legal), value


def chunk_loss(
    network: ActorCritic, batch: Batch, settings: PPOSettings, *, critic_only: bool = False
) -> tuple[Tensor, Tensor]:
    """Sum of the loss over the decisions, or of its value term where only the critic learns; and the sums of its parts.

    Returns:
        A number, and [len(LOSS_PARTS)].
    """
    logits, value = outputs(network, batch)
    batch = batch.flat()
    logprob, entropy = logprob_entropy(network.heads, logits, batch.action)
    result: tuple[Tensor, Tensor] = _Surrogate.apply(  # type: ignore[no-untyped-call]
        logprob, entropy, value, batch, settings, critic_only
    )
    loss, parts = result
    if batch.teacher is None:
        return loss, torch.cat([parts, parts.new_zeros(2)])
    teacher = masked(batch.teacher, batch.legal)
    with torch.set_grad_enabled(settings.teacher_kl > 0 and not critic_only):
        forward = divergence(network.heads, teacher, logits).sum()
    with torch.set_grad_enabled(settings.teacher_kl_reverse > 0 and not critic_only):
        reverse = divergence(network.heads, logits, teacher).sum()
    if not critic_only:
        loss = loss + settings.teacher_kl * forward + settings.teacher_kl_reverse * reverse
    return loss, torch.cat([parts, torch.stack([forward.detach(), reverse.detach()])])


class _Surrogate(torch.autograd.Function):
    """The loss without its teacher, with the gradient written out: some thirty operations on [N] take longer undone.

    d policy / d log pi = -ratio A where the first term is the smaller, else 0; d value / d V = V - R where the first
    is the larger, else 0. Comparisons let NaN through, so that a gradient shows it.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        logprob: Tensor,
        entropy: Tensor,
        value: Tensor,
        batch: Batch,
        settings: PPOSettings,
        critic_only: bool,
    ) -> tuple[Tensor, Tensor]:
        log_ratio = logprob - batch.logprob
        ratio = log_ratio.exp()
        free, held = ratio * batch.advantage, ratio.clamp(1 - settings.clip, 1 + settings.clip) * batch.advantage
        policy_loss = -torch.minimum(free, held).sum()
        error = value - batch.target
        near = (value - batch.value).clamp_(-settings.value_clip, settings.value_clip).add_(batch.value)
        squared, near_squared = error.square(), near.sub_(batch.target).square_()
        value_loss = 0.5 * torch.maximum(squared, near_squared).sum()
        total_entropy = entropy.sum()
        # k3 estimator: unbiased and never negative (Schulman 2020, http://joschu.net/blog/kl-approx.html)
        kl = (ratio - 1 - log_ratio).sum()
        outside = ((ratio - 1).abs_() > settings.clip).sum()
        ctx.save_for_backward(
            free.masked_fill_(free > held, 0.0).mul_(0.0 if critic_only else -1.0),
            error.masked_fill_(squared < near_squared, 0.0).mul_(settings.value_coefficient),
        )
        ctx.entropy_coefficient = 0.0 if critic_only else settings.entropy_coefficient
        loss = settings.value_coefficient * value_loss
        if not critic_only:
            loss = loss + policy_loss - settings.entropy_coefficient * total_entropy
        parts = torch.stack([policy_loss, value_loss, total_entropy, kl, outside])
        ctx.mark_non_differentiable(parts)
        return loss, parts

    @staticmethod
    def backward(ctx: Any, scale: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        along_logprob, along_value = (saved * scale for saved in ctx.saved_tensors)
        along_entropy = (-ctx.entropy_coefficient * scale).expand(len(along_value))
        return along_logprob, along_entropy, along_value, None, None, None
