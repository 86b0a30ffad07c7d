"""The loss of proximal policy optimisation, of one chunk of a minibatch.

    ratio = pi(a|s) / pi_old(a|s)
    policy = -min(ratio A, clip(ratio, 1-c, 1+c) A)
    value  = 1/2 max((V - R)^2, (V_old + clip(V - V_old, -v, v) - R)^2)
    loss   = policy + c_v value - c_e entropy + c_t KL(teacher, pi) + c_r KL(pi, teacher)

with A the normalised advantage and R the target (Schulman et al. 2017, https://arxiv.org/abs/1707.06347).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from selfplay.learner import dense
from selfplay.policy import compiled_heads
from selfplay.policy.heads import divergence, logprob_entropy, masked

if TYPE_CHECKING:
    from selfplay.learner.batch import Batch
    from selfplay.policy.heads import Heads
    from selfplay.policy.network import ActorCritic
    from selfplay.rollout.reused import Reused


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
        """The loss of its parts, by the names of LOSS_PARTS; see above."""
        return (
            parts["policy_loss"]
            + self.value_coefficient * parts["value_loss"]
            - self.entropy_coefficient * parts["entropy"]
            + self.teacher_kl * parts["teacher_kl"]
            + self.teacher_kl_reverse * parts["teacher_kl_reverse"]
        )


# Sums over the decisions of a chunk, in the order of LOSS_PARTS.
LOSS_PARTS = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "teacher_kl", "teacher_kl_reverse")


def outputs(network: ActorCritic, batch: Batch) -> Tensor:
    """Logits and, beside them, the values, [N, L + 1], of the decisions of ``batch.flat()``."""
    if batch.memory is None or batch.fresh is None or batch.mine is None:
        logits, value = network(batch.obs)
        return torch.cat([logits, value[:, None]], 1)
    logits, value, _ = network.unroll(batch.obs, batch.memory, batch.fresh)
    return torch.cat([logits, value[..., None]], -1)[batch.mine]


def chunk_gradient(
    network: ActorCritic,
    batch: Batch,
    settings: PPOSettings,
    moving: Sequence[Tensor],
    arrays: Reused,
    *,
    share: float = 1.0,
    critic_only: bool = False,
) -> tuple[list[Tensor], Tensor]:
    """The gradient of the loss, summed over the decisions, or of its value term where only the critic learns.

    Args:
        network: what learns.
        batch: a chunk of a minibatch.
        settings: coefficients.
        moving: the parameters to give it of: all, or those of the last layers.
        arrays: for what is kept meanwhile.
        share: the gradient is multiplied by it.
        critic_only: see above.

    Returns:
        What is to be added up to the gradient of each parameter; and the sums of the loss's parts [len(LOSS_PARTS)].
    """
    by_hand = batch.memory is None and dense.can_handle(network, batch.obs)
    kept = dense.forward(network, batch.obs, arrays) if by_hand else [outputs(network, batch)]
    along, parts = loss_gradient(network.heads, kept[-1].detach(), batch.flat(), settings, critic_only=critic_only)
    along *= share
    if by_hand:
        return dense.backward(network, kept, along, moving, arrays), parts
    return list(torch.autograd.grad(kept[-1], moving, along)), parts


def loss_gradient(
    heads: Heads, out: Tensor, batch: Batch, settings: PPOSettings, *, critic_only: bool = False
) -> tuple[Tensor, Tensor]:
    """The same after the outputs of a network, [N, L + 1]; and the sums of the parts."""
    if batch.legal is not None:  # what is never chosen has no gradient
        out = torch.cat([masked(out[:, :-1], batch.legal), out[:, -1:]], 1)
    if not heads.compiled_for(out):
        grad, parts = _differentiated(heads, out, batch, settings)
    else:
        coefficients = settings.clip, settings.value_clip, settings.value_coefficient, settings.entropy_coefficient
        found = compiled_heads.ppo(
            heads.binary, heads.sizes, out.numpy(), batch.action.numpy(), batch.logprob.numpy(), batch.value.numpy(),
            batch.advantage.numpy(), batch.target.numpy(), coefficients,
        )  # fmt: skip
        grad, parts = torch.from_numpy(found[0]), torch.from_numpy(found[1]).float()
    told = parts.new_zeros(2)
    if batch.teacher is not None:
        beside, told = _beside_teacher(heads, out[:, :-1], masked(batch.teacher, batch.legal), settings)
        grad[:, :-1] += beside
    if critic_only:
        grad[:, :-1] = 0.0
    return grad, torch.cat([parts, told])


def _differentiated(heads: Heads, out: Tensor, batch: Batch, settings: PPOSettings) -> tuple[Tensor, Tensor]:
    """Gradient and parts of ``surrogate``, where nothing is compiled for it."""
    out = out.detach().requires_grad_()
    logprob, entropy = logprob_entropy(heads, out[:, :-1], batch.action)
    loss, parts = surrogate(logprob, entropy, out[:, -1], batch, settings)
    return torch.autograd.grad(loss, out)[0], parts


def _beside_teacher(heads: Heads, logits: Tensor, teacher: Tensor, settings: PPOSettings) -> tuple[Tensor, Tensor]:
    """The gradient [N, L] of the terms that hold the policy near its teacher, and the sums of both."""
    logits = logits.detach().requires_grad_()
    forward, reverse = divergence(heads, teacher, logits).sum(), divergence(heads, logits, teacher).sum()
    (grad,) = torch.autograd.grad(settings.teacher_kl * forward + settings.teacher_kl_reverse * reverse, logits)
    return grad, torch.stack([forward, reverse]).detach()


def surrogate(
    logprob: Tensor, entropy: Tensor, value: Tensor, batch: Batch, settings: PPOSettings
) -> tuple[Tensor, Tensor]:
    """The loss without its teacher, from log-probability, entropy and value, all [N], of the decisions of a batch.

    Returns:
        The loss, and the sums of its first five parts.
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
    loss = policy_loss + settings.value_coefficient * value_loss - settings.entropy_coefficient * entropy.sum()
    return loss, parts
