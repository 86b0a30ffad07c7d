"""The distribution over factored actions: independent buttons and independent categoricals.

Logits lie side by side in one row: ``binary`` buttons, then the classes of each categorical. An action is a row of
``binary`` zeros and ones, then one class index for each categorical. N rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from selfplay.games.api import action_dtype
from selfplay.policy import compiled_heads


@dataclass(frozen=True, slots=True)
class HeadGroup:
    """Neighbouring categoricals of one size, handled in one operation."""

    first_logit: int
    first_head: int
    count: int
    size: int


@dataclass(frozen=True, slots=True)
class Heads:
    """Which logits belong to which part of an action."""

    binary: int
    sizes: tuple[int, ...]

    @property
    def logits(self) -> int:
        return self.binary + sum(self.sizes)

    @property
    def width(self) -> int:
        return self.binary + len(self.sizes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers of an action."""
        return action_dtype(self.sizes)

    @property
    def layout(self) -> compiled_heads.Layout:
        """The same for compiled code."""
        return compiled_heads.layout(self.binary, self.sizes)

    def compiled_for(self, logits: Tensor) -> bool:
        """Return True if there is compiled code for such logits."""
        here = logits.device.type == "cpu" and logits.dtype == torch.float32
        return here and compiled_heads.can_handle(self.binary, self.sizes)

    @property
    def groups(self) -> list[HeadGroup]:
        """The categoricals, neighbours of one size together."""
        groups, logit, head = [], self.binary, self.binary
        for size, same in groupby(self.sizes):
            count = len(list(same))
            groups.append(HeadGroup(logit, head, count, size))
            logit, head = logit + count * size, head + count
        return groups


def _classes(logits: Tensor, group: HeadGroup) -> Tensor:
    """Logits of one group, [N, count, size]."""
    end = group.first_logit + group.count * group.size
    return logits[:, group.first_logit : end].view(len(logits), group.count, group.size)


_TORCH: Final = {np.dtype(np.int8): torch.int8, np.dtype(np.int16): torch.int16}
NEVER: Final = -1e9  # logit of illegal actions: their probability is exactly 0, and no value becomes infinite


def masked(logits: Tensor, legal: Tensor | None) -> Tensor:
    """The logits [N, L], lowered to ``NEVER`` where ``legal``, bool [N, L], says so; None: all are legal."""
    return logits if legal is None else torch.where(legal, logits, NEVER)


def sample(
    heads: Heads,
    logits: Tensor,
    generator: torch.Generator | None,
    legal: Tensor | None = None,
    *,
    greedy: bool = False,
    uniform: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw an action for each row; greedy ones take the most likely value of each part.

    ``logits`` are float [N, heads.logits]; ``legal``, bool of that shape, says which may be chosen. ``generator`` is on
    their device; ``uniform``, float [N, heads.width] in [0, 1), has random numbers in place of those of the generator.
    Returns actions [N, heads.width] of the type ``heads.dtype``, and the logarithm of their probability, float [N].
    """
    rows = logits.shape[0]
    logits = masked(logits, legal)
    if greedy:
        actions = _likeliest(heads, logits)
        return actions, logprob_entropy(heads, logits, actions)[0]
    if uniform is None:
        uniform = torch.rand((rows, heads.width), generator=generator, device=logits.device)
    if heads.compiled_for(logits):
        drawn = compiled_heads.draw(heads.layout, logits.detach().numpy(), uniform.numpy(), heads.dtype)
        return torch.from_numpy(drawn[0]), torch.from_numpy(drawn[1])
    actions = _drawn(heads, logits, uniform)
    return actions, logprob_entropy(heads, logits, actions)[0]


def _likeliest(heads: Heads, logits: Tensor) -> Tensor:
    """The likeliest value of each part, [N, width]."""
    parts = [logits[:, : heads.binary] > 0, *(_classes(logits, group).argmax(-1) for group in heads.groups)]
    return torch.cat([part.to(_TORCH[heads.dtype]) for part in parts], 1)


def _drawn(heads: Heads, logits: Tensor, uniform: Tensor) -> Tensor:
    """Sample actions [N, width] from uniform numbers [N, width] by the inverse CDF of each part."""
    parts = [uniform[:, : heads.binary] < torch.sigmoid(logits[:, : heads.binary])]
    for group in heads.groups:
        part = slice(group.first_head, group.first_head + group.count)
        cumulative = torch.softmax(_classes(logits, group), -1).cumsum(-1)
        # within (0, what rounding left of 1]: never a class of probability 0
        point = uniform[:, part, None].clamp(min=float(compiled_heads.TINY)) * cumulative[..., -1:]
        parts.append((cumulative < point).sum(-1).clamp_(max=group.size - 1))
    return torch.cat([part.to(_TORCH[heads.dtype]) for part in parts], 1)


def _whole_tensors(heads: Heads, logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """The same by tensor operations, for gradients, and for devices and types that nothing is compiled for."""
    buttons, pressed = logits[:, : heads.binary], actions[:, : heads.binary].to(logits.dtype)
    softplus = functional.softplus(buttons)
    logprob = (pressed * buttons - softplus).sum(1)
    entropy = (softplus - buttons * torch.sigmoid(buttons)).sum(1)
    for group in heads.groups:
        chosen = actions[:, group.first_head : group.first_head + group.count, None].long()
        log_p = torch.log_softmax(_classes(logits, group), -1)
        logprob = logprob + log_p.gather(2, chosen).sum((1, 2))
        entropy = entropy - (log_p.exp() * log_p).sum((1, 2))
    return logprob, entropy


def probabilities(heads: Heads, logits: Tensor) -> Tensor:
    """Probability of each button to be pressed and of each class to be chosen, [N, heads.logits]."""
    parts = [torch.sigmoid(logits[:, : heads.binary])]
    parts += [torch.softmax(_classes(logits, group), -1).flatten(1) for group in heads.groups]
    return torch.cat(parts, 1)


def divergence(heads: Heads, logits: Tensor, others: Tensor) -> Tensor:
    """KL(P, Q) of the whole action, [N], in nats: ``logits`` are of P and ``others`` of Q, both [N, L].

    The parts of an action are independent, so theirs add up. A button with logits a and b: s(a) (a - b) - softplus(a)
    + softplus(b); a categorical: the sum of p (log p - log q). What neither may choose (``NEVER``) adds nothing.
    """
    mine, other = logits[:, : heads.binary], others[:, : heads.binary]
    total = torch.sigmoid(mine) * (mine - other) - functional.softplus(mine) + functional.softplus(other)
    result = total.sum(1)
    for group in heads.groups:
        log_p, log_q = (torch.log_softmax(_classes(part, group), -1) for part in (logits, others))
        result = result + (log_p.exp() * (log_p - log_q)).sum((1, 2))
    return result


def logprob_entropy(heads: Heads, logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probability of given actions [N, width] and entropy of each row, both float [N], differentiable."""
    wanted = torch.is_grad_enabled() and logits.requires_grad
    if wanted or not heads.compiled_for(logits):
        return _whole_tensors(heads, logits, actions)
    found = compiled_heads.distributions(heads.layout, logits.detach().numpy(), actions.numpy())
    return torch.from_numpy(found.logprob), torch.from_numpy(found.entropy).float()
