"""The distribution over factored actions: independent buttons and independent categoricals.

Logits lie side by side in one row: ``binary`` buttons, then the classes of each categorical. An action is a row of
``binary`` zeros and ones, then one class index for each categorical. N rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from selfplay.policy.few import FEW, draw


@dataclass(frozen=True, slots=True)
class Group:
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
        """Width of a row of logits."""
        return self.binary + sum(self.sizes)

    @property
    def width(self) -> int:
        """Width of a row of actions."""
        return self.binary + len(self.sizes)

    @property
    def groups(self) -> list[Group]:
        """The categoricals, neighbours of one size together."""
        groups, logit, head = [], self.binary, self.binary
        for size, same in groupby(self.sizes):
            count = len(list(same))
            groups.append(Group(logit, head, count, size))
            logit, head = logit + count * size, head + count
        return groups


def _classes(logits: Tensor, group: Group) -> Tensor:
    """Logits of one group, [N, count, size]."""
    end = group.first_logit + group.count * group.size
    return logits[:, group.first_logit : end].view(len(logits), group.count, group.size)


NEVER: Final = -1e9
"""Logit of what is not legal: its probability is exactly 0, and nothing becomes infinite."""
TINY: Final = 2.0**-26
"""Below every random number but 0."""


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
    """Draw an action for each row.

    Args:
        heads: Layout of the rows.
        logits: Float [N, heads.logits].
        generator: Source of randomness, on the device of the logits; unused when greedy.
        legal: Which logits may be chosen, bool as the logits; None: all.
        greedy: Take the most likely value of each part.
        uniform: Float [N, heads.width] in [0, 1): the random numbers, in place of those of the generator.

    Returns:
        Actions int8 [N, heads.width] and the logarithm of their probability, float [N].
    """
    rows = logits.shape[0]
    logits = masked(logits, legal)
    if greedy:
        uniform = None
    elif uniform is None:
        uniform = torch.rand((rows, heads.width), generator=generator, device=logits.device)
    if uniform is not None and legal is None and rows <= FEW and logits.device.type == "cpu":
        return draw(heads.binary, heads.sizes, logits.float(), uniform)
    actions = torch.empty((rows, heads.width), dtype=torch.int8, device=logits.device)
    buttons = logits[:, : heads.binary]
    pressed = buttons > 0 if uniform is None else uniform[:, : heads.binary] < torch.sigmoid(buttons)
    actions[:, : heads.binary] = pressed
    # the operations of logprob_entropy, in its order: on the same rows the ratio of the first update is exactly 1
    logprob = (pressed * buttons - functional.softplus(buttons)).sum(1)
    for group in heads.groups:
        log_p = torch.log_softmax(_classes(logits, group), -1)
        part = slice(group.first_head, group.first_head + group.count)
        if uniform is None:
            chosen = log_p.argmax(-1)
        else:  # inverse of the cumulative distribution: one random number a categorical
            cumulative, point = log_p.exp().cumsum(-1), uniform[:, part, None]
            if legal is not None:  # within (0, what rounding left of 1]: never a class of probability 0
                point = point.clamp(min=TINY) * cumulative[..., -1:]
            chosen = (cumulative < point).sum(-1).clamp_(max=group.size - 1)
        actions[:, part] = chosen
        logprob += log_p.gather(2, chosen[..., None]).sum((1, 2))
    return actions, logprob


class _LogProbEntropy(torch.autograd.Function):
    """Log-probability and entropy in one pass, with the gradient written out: a third of autograd's memory traffic.

    With p = softmax(z): d log p_a / dz = onehot(a) - p and dH/dz = -p (log p + H).
    With s = sigmoid(b): d log p_a / db = a - s and dH/db = -b s (1 - s).
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, actions: Tensor, heads: Heads) -> tuple[Tensor, Tensor]:  # noqa: ANN401
        chosen = actions.long()
        buttons, pressed = logits[:, : heads.binary], actions[:, : heads.binary].to(logits.dtype)
        on = torch.sigmoid(buttons)
        softplus = functional.softplus(buttons)
        logprob = (pressed * buttons - softplus).sum(1)
        entropy = (softplus - buttons * on).sum(1)
        saved = [buttons, pressed, on]
        for group in heads.groups:
            index = chosen[:, group.first_head : group.first_head + group.count, None]
            log_p = torch.log_softmax(_classes(logits, group), -1)
            p = log_p.exp()
            head_entropy = -torch.linalg.vecdot(p, log_p)
            logprob += log_p.gather(2, index).sum((1, 2))
            entropy += head_entropy.sum(1)
            saved += [log_p, p, head_entropy, index]
        ctx.save_for_backward(*saved)
        ctx.heads = heads
        return logprob, entropy

    @staticmethod
    def backward(ctx: Any, grad_logprob: Tensor, grad_entropy: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        heads: Heads = ctx.heads
        buttons, pressed, on, *rest = ctx.saved_tensors
        grad = torch.empty((len(on), heads.logits), dtype=on.dtype, device=on.device)
        along_p, along_h = grad_logprob[:, None], grad_entropy[:, None]
        grad[:, : heads.binary] = along_p * (pressed - on) - along_h * buttons * on * (1 - on)
        for i, group in enumerate(heads.groups):
            log_p, p, head_entropy, index = rest[4 * i : 4 * i + 4]
            # g_p (onehot - p) - g_H p (log p + H), in one buffer
            inner = log_p.add(head_entropy[..., None]).mul_(along_h[..., None]).add_(along_p[..., None])
            inner.mul_(p).neg_()
            inner.scatter_add_(2, index, along_p[:, :, None].expand(index.shape))
            _classes(grad, group).copy_(inner)
        return grad, None, None


def probabilities(heads: Heads, logits: Tensor) -> Tensor:
    """Of each button to be pressed and of each class to be chosen, [N, heads.logits]."""
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
    """Log-probability of given actions int8 [N, width] and entropy of each row, both float [N], differentiable."""
    result: tuple[Tensor, Tensor] = _LogProbEntropy.apply(logits, actions, heads)  # type: ignore[no-untyped-call]
    return result
