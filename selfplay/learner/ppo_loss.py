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
from selfplay.learner.batch import taken
from selfplay.learner.dense import Dense
from selfplay.policy import compiled_heads
from selfplay.policy.heads import divergence, logprob_entropy, masked
from selfplay.rollout.reused import Reused

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


class ChunkGradient:
    """The gradient of the loss of chunks of a batch, for one network. Safe for threads."""

    def __init__(self, network: ActorCritic) -> None:
        self._network = network
        self._arrays = Reused()
        self._dense = Dense(network, self._arrays) if dense.can_handle(network) else None
        self._compiled = compiled_heads.can_handle(network.heads.binary, network.heads.sizes)

    def __call__(
        self,
        batch: Batch,
        index: Tensor,
        settings: PPOSettings,
        moving: Sequence[Tensor],
        *,
        share: float = 1.0,
        critic_only: bool = False,
    ) -> tuple[list[Tensor], Tensor]:
        """Of the sum over the decisions, or of its value term where only the critic learns.

        Args:
            batch: what the update learns from.
            index: the items of the chunk.
            settings: coefficients.
            moving: the parameters to give it of: all, or those of the last layers.
            share: the gradient is multiplied by it.
            critic_only: see above.

        Returns:
            Gradients of the parameters, and the sums of the loss's parts [len(LOSS_PARTS)].
        """
        heads = self._network.heads
        if self._dense is None:
            chunk = batch.taken(index, self._arrays)
            out = outputs(self._network, chunk)
            along, parts = loss_gradient(heads, out.detach(), chunk.flat(), settings, critic_only=critic_only)
            return list(torch.autograd.grad(out, moving, along.mul_(share))), parts
        if self._compiled and batch.legal is None and batch.teacher is None:  # all else stays where it is
            obs, chunk, rows = taken(batch.obs, index, self._arrays), batch, index
        else:
            chunk, rows = batch.taken(index, self._arrays), None
            obs = chunk.obs
        kept = self._dense.forward(obs)
        along, parts = loss_gradient(heads, kept[-1], chunk, settings, rows, critic_only=critic_only)
        return self._dense.backward(kept, along.mul_(share), len(moving) // 2), parts


def loss_gradient(
    heads: Heads,
    out: Tensor,
    batch: Batch,
    settings: PPOSettings,
    index: Tensor | None = None,
    *,
    critic_only: bool = False,
) -> tuple[Tensor, Tensor]:
    """The same after outputs [N, L + 1] of all decisions of a batch; and the sums.

    Where there is compiled code for them, and neither teacher nor mask, they may be of some, in the order of ``index``.
    """
    if batch.legal is not None:  # what is never chosen has no gradient
        out = torch.cat([masked(out[:, :-1], batch.legal), out[:, -1:]], 1)
    if heads.compiled_for(out):
        grad, parts = _compiled(heads, out, batch, settings, torch.arange(len(out)) if index is None else index)
    else:
        grad, parts = _differentiated(heads, out, batch, settings)
    told = parts.new_zeros(2)
    if batch.teacher is not None:
        beside, told = _beside_teacher(heads, out[:, :-1], masked(batch.teacher, batch.legal), settings)
        grad[:, :-1] += beside
    if critic_only:
        grad[:, :-1] = 0.0
    return grad, torch.cat([parts, told])


def _compiled(heads: Heads, out: Tensor, batch: Batch, settings: PPOSettings, index: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient and parts of ``surrogate`` in one pass; the decisions stay where they are in the batch."""
    coefficients = settings.clip, settings.value_clip, settings.value_coefficient, settings.entropy_coefficient
    grad, sums = compiled_heads.ppo(
        heads.binary, heads.sizes, out.numpy(), index.numpy(), batch.action.numpy(), batch.logprob.numpy(),
        batch.value.numpy(), batch.advantage.numpy(), batch.target.numpy(), coefficients,
    )  # fmt: skip
    return torch.from_numpy(grad), torch.from_numpy(sums).float()


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
