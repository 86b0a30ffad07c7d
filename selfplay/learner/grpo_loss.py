"""The clipped loss of group-relative policy optimisation (Shao et al. 2024, https://arxiv.org/abs/2402.03300).

Letters in shapes: N tokens that train, V tokens of the vocabulary.

The nucleus (top-p below 1) changes with each step, so a sampled token can be outside of it later: its log-probability
is then minus infinity and its ratio 0, which is clipped and has no gradient. Log-ratios are clamped to +-20 to keep
loss and gradient finite. Such tokens are counted, and excluded from means of log-ratios. KL to the reference is
computed without the nucleus, since the two distributions may share no token.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from selfplay.learner.sampling import Sampling, log_distribution

if TYPE_CHECKING:
    from selfplay.learner.advantages import Advantage, Baseline
    from selfplay.learner.token_batch import Aggregation, Targets

_FARTHEST: Final = 20.0  # bound of log-ratios
_FARTHEST_K3: Final = 10.0


@dataclass(frozen=True, slots=True)
class GRPOSettings:
    """Coefficients of the update, named as on the command line."""

    advantage: Advantage = "dr_grpo"  # only used with the baseline ``group``
    baseline: Baseline = "group"
    baseline_decay: float = 0.95  # of ``role-ema``, at each update
    loss_agg: Aggregation = "constant"
    row_tokens: int = 256  # of ``constant``: assumed number of tokens per row
    clip_low: float = 0.2
    clip_high: float = 0.2
    learning_rate: float = 1e-4
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0  # of the mean over tokens
    epochs: int = 1
    batch_rows: int = 64  # per optimiser step, over all processes
    micro_tokens: int = 2048  # per forward pass
    micro_rows: int = 0  # per forward pass at most; 0: any number
    kl: float = 0.0  # weight of KL to the reference
    entropy: float = 0.0  # weight of the entropy bonus
    truncate: float = 0.0  # maximum importance weight of samples of a server; 0: own samples
    bf16: bool = False  # forward passes in bfloat16


def token_logprobs(logits: Tensor, taken: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Log-probabilities [N] of the tokens taken, and those of all tokens [N, V], when ``logits`` [N, V] are sampled."""
    every = log_distribution(logits, sampling)
    return every.gather(-1, taken[:, None]).squeeze(-1), every


def entropy_of(logprobs: Tensor) -> Tensor:
    """[N] of distributions [N, V]; tokens with minus infinity contribute neither value nor gradient."""
    return -(logprobs.exp() * logprobs.masked_fill(logprobs == -torch.inf, 0.0)).sum(-1)


def clipped_loss(log_ratio: Tensor, advantage: Tensor, low: float, high: float) -> Tensor:
    """[N] -min(ratio A, clip(ratio, 1 - low, 1 + high) A) for each token; the log-ratio may be minus infinity."""
    ratio = log_ratio.clamp(-_FARTHEST, _FARTHEST).exp()
    return -torch.min(ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage)


def k3(logprob: Tensor, reference: Tensor) -> Tensor:
    """[N] r - 1 - log r with r = reference / policy: its mean over samples of the policy is KL(policy, reference).

    Never negative (Schulman 2020, http://joschu.net/blog/kl-approx.html). Clamped to 10, as in verl's ``low_var_kl``.
    Its gradient is not that of the KL, but has the same optimum, as in GRPO's paper.
    """
    log_ratio = (reference - logprob).clamp(-_FARTHEST, _FARTHEST)
    return (torch.expm1(log_ratio) - log_ratio).clamp(0.0, _FARTHEST_K3)


def truncated_importance(before: Tensor, sampler: Tensor, cap: float) -> Tensor:
    """[N] truncated importance weights min(p / q, cap) of the model p before the update and the sampler q.

    Arguments are logarithms. A token outside of the model's nucleus has weight 0.
    """
    return (before - sampler).clamp(max=_FARTHEST).exp().clamp(max=cap)


LOSS_PARTS = ("loss", "policy_loss", "entropy", "kl", "approx_kl", "clip_fraction", "outside")
"""The loss of a micro-batch, and sums of its parts over the tokens."""


def micro_loss(logits: Tensor, targets: Targets, settings: GRPOSettings, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """The contribution of some tokens to the loss, and the statistics [len(LOSS_PARTS) + 1], the last one the drift.

        loss = sum over tokens of weight (importance policy + c_k KL - c_e entropy)

    with the weights of ``token_batch.token_weights``, policy as in ``clipped_loss`` and KL as in ``k3``. The drift
    is the maximum |log-ratio|.
    """
    logprob, every = token_logprobs(logits, targets.taken, sampling)
    log_ratio = logprob - targets.logprob
    policy = clipped_loss(log_ratio, targets.advantage, settings.clip_low, settings.clip_high)
    if targets.importance is not None:
        policy = policy * targets.importance
    total = policy
    with torch.set_grad_enabled(torch.is_grad_enabled() and settings.entropy != 0):
        entropy = entropy_of(every)
    total = total - settings.entropy * entropy
    kl = torch.zeros_like(policy)
    if targets.reference is not None:
        with torch.set_grad_enabled(torch.is_grad_enabled() and settings.kl != 0):
            kl = k3(_uncut(logits, logprob, targets, sampling), targets.reference)
        total = total + settings.kl * kl
    loss = (total * targets.weight).sum()
    with torch.no_grad():
        outside = log_ratio == -torch.inf
        inside = log_ratio.masked_fill(outside, 0.0)
        ratio = inside.clamp(max=_FARTHEST).exp()
        clipped = (ratio < 1 - settings.clip_low) | (ratio > 1 + settings.clip_high) | outside
        means = [policy, entropy, kl, k3(torch.zeros_like(inside), inside), clipped, outside]
        parts = [loss, *(part.double().sum() for part in means), inside.abs().max()]
        return loss, torch.stack([part.double() for part in parts])


def _uncut(logits: Tensor, logprob: Tensor, targets: Targets, sampling: Sampling) -> Tensor:
    """[N] log-probabilities of the tokens taken, without the nucleus."""
    whole = whole_of(sampling)
    return logprob if whole == sampling else token_logprobs(logits, targets.taken, whole)[0]


def whole_of(sampling: Sampling) -> Sampling:
    """The same sampling without a nucleus."""
    return replace(sampling, top_p=1.0)
