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
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from selfplay.learner import dense
from selfplay.policy import compiled_heads
from selfplay.policy.heads import divergence, logprob_entropy, masked

if TYPE_CHECKING:
    from selfplay.learner.batch import Batch
    from selfplay.policy.heads import Heads
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
    if batch.memory is None and batch.legal is None:
        out = dense.joined(network, batch.obs)
        logits, value = out[:, :-1], out[:, -1]
    else:
        logits, value = outputs(network, batch)
        out = torch.cat([logits, value[:, None]], 1)
    batch = batch.flat()
    if network.heads.compiled_for(out):
        result = _Compiled.apply(out, batch, network.heads, settings)  # type: ignore[no-untyped-call]
    else:
        result = surrogate(*logprob_entropy(network.heads, logits, batch.action), value, batch, settings)
    policy_loss, value_loss, parts = cast("tuple[Tensor, Tensor, Tensor]", result)
    loss = value_loss if critic_only else policy_loss + value_loss
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


def surrogate(
    logprob: Tensor, entropy: Tensor, value: Tensor, batch: Batch, settings: PPOSettings
) -> tuple[Tensor, Tensor, Tensor]:
    """The loss without its teacher, from log-probability, entropy and value, all [N], of the decisions of a batch.

    Returns:
        What the actor learns from, what the critic learns from, and the sums of the first five parts.
    """
    log_ratio = logprob - batch.logprob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    policy_loss = -torch.minimum(ratio * batch.advantage, clipped * batch.advantage).sum()
    near = batch.value + (value - batch.value).clamp(-settings.value_clip, settings.value_clip)
    value_loss = 0.5 * torch.maximum((value - batch.target).square(), (near - batch.target).square()).sum()
    with torch.no_grad():
        # k3 estimator: unbiased and never negative (Schulman 2020, http://joschu.net/blog/kl-approx.html)
        kl = (ratio - 1 - log_ratio).sum()
        outside = ((ratio - 1).abs() > settings.clip).sum()
        parts = torch.stack([policy_loss, value_loss, entropy.sum(), kl, outside])
    return policy_loss - settings.entropy_coefficient * entropy.sum(), settings.value_coefficient * value_loss, parts


class _Compiled(torch.autograd.Function):
    """``surrogate`` of logits and values side by side, on the processor: its gradient comes with it, in one pass."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        out: Tensor,
        batch: Batch,
        heads: Heads,
        settings: PPOSettings,
    ) -> tuple[Tensor, Tensor, Tensor]:
        coefficients = settings.clip, settings.value_clip, settings.value_coefficient, settings.entropy_coefficient
        grad, sums = compiled_heads.ppo(
            heads.binary, heads.sizes, out.detach().numpy(), batch.action.numpy(), batch.logprob.numpy(),
            batch.value.numpy(), batch.advantage.numpy(), batch.target.numpy(), coefficients,
        )  # fmt: skip
        ctx.save_for_backward(torch.from_numpy(grad))
        parts = torch.from_numpy(sums).float()
        ctx.mark_non_differentiable(parts)
        return parts[0] - settings.entropy_coefficient * parts[2], settings.value_coefficient * parts[1], parts

    @staticmethod
    def backward(ctx: Any, of_policy: Tensor, of_value: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        (grad,) = ctx.saved_tensors
        scale = of_policy.expand(grad.shape[1]).clone()
        scale[-1] = of_value
        return grad * scale, None, None, None
