"""Imitation (behaviour cloning): a network is trained to predict the actions of a player.

N rows or lanes, T decisions of a window, A parts of an action (buttons, then categoricals), L logits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from selfplay.learner.parallel_step import ParallelStep, differentiated
from selfplay.policy.heads import masked

if TYPE_CHECKING:
    from selfplay.learner.imitation_metrics import ActionCounts
    from selfplay.policy.heads import Heads
    from selfplay.policy.network import ActorCritic


@dataclass(frozen=True, slots=True)
class Lesson:
    """A minibatch: rows [N, ...], or windows [N, T, ...] of consecutive decisions, which go on from lesson to lesson.

    ``action`` is what the player did, ``last`` the controller before. Windows say with ``mask`` which decisions there
    are, and with ``fresh`` before which of them a game began.
    """

    obs: Tensor  # float [N, (T,) D]
    action: Tensor  # int8 [N, (T,) A]
    last: Tensor  # int8 [N, (T,) A]
    mask: Tensor | None = None  # bool [N, T]
    fresh: Tensor | None = None  # bool [N, T]
    legal: Tensor | None = None  # bool [N, (T,) L]; None: everything

    def __len__(self) -> int:
        return len(self.obs)

    @property
    def rows(self) -> int:
        return len(self.obs) if self.mask is None else int(self.mask.sum())

    def part(self, lanes: slice) -> Lesson:
        """Some rows or lanes, as views."""
        return self._map(lambda tensor: tensor[lanes])

    def to(self, device: torch.device) -> Lesson:
        return self._map(lambda tensor: tensor.to(device))

    def _map(self, change: Callable[[Tensor], Tensor]) -> Lesson:
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: change(tensor) for name, tensor in tensors.items() if tensor is not None})


@dataclass(frozen=True, slots=True)
class Decided:
    """The R decisions of a lesson with the outputs of a network."""

    logits: Tensor  # float [R, L]
    action: Tensor  # int8 [R, A]
    last: Tensor  # int8 [R, A]
    memory: Tensor  # float [N, M] after the lesson


def decide(network: ActorCritic, lesson: Lesson, memory: Tensor) -> Decided:
    """Run a network on a lesson, beginning with ``memory`` [N, M]; M is 0 for a network without memory."""
    mask, legal = lesson.mask, lesson.legal
    if mask is None:
        return Decided(masked(network(lesson.obs)[0], legal), lesson.action, lesson.last, memory)
    if network.memory_width and lesson.fresh is not None:
        logits, _, memory = network.unroll(lesson.obs, memory, lesson.fresh)
        logits = logits[mask]
    else:
        logits = network(lesson.obs[mask])[0]
    legal = None if legal is None else legal[mask]
    return Decided(masked(logits, legal), lesson.action[mask], lesson.last[mask], memory)


@dataclass(frozen=True, slots=True)
class Emphasis:
    """Weights of choices in the loss that do not bias the predicted probabilities.

    ``press`` weighs presses of each button, ``change`` every choice of a part that differs from the controller before.
    A plain weighted loss has its optimum where w p / sum(w p) is predicted, not p. So the weighted loss is applied to
    the logits shifted by +log w: its optimum is softmax(z + log w) = w p / sum(w p), which z = log p gives. That
    holds for w that follow from what the network sees and from the class; ``last`` is part of every observation.
    """

    press: Tensor  # float [buttons]
    change: float = 1.0

    @staticmethod
    def of(action_counts: ActionCounts, heads: Heads, power: float, limit: float, change: float) -> Emphasis:
        """Presses of a button that is pressed with rate r weigh ((1 - r) / r)^power, from 1 to ``limit``."""
        rate = action_counts.press_rates[: heads.binary].clamp(min=1e-9)
        press = ((1 - rate) / rate).pow(power).clamp(1.0, limit)
        return Emphasis(press.float(), change)

    def losses(self, heads: Heads, logits: Tensor, action: Tensor, last: Tensor) -> Tensor:
        """Weighted negative log-likelihood of each part, float [R, A], for logits [R, L]."""
        logits = logits.float()
        log_change = math.log(self.change)
        buttons, pressed, was = logits[:, : heads.binary], action[:, : heads.binary] > 0, last[:, : heads.binary] > 0
        on = self.press.to(logits.device).log() + log_change * ~was
        off = log_change * was
        weight = torch.where(pressed, on, off).exp()
        shifted = buttons + on - off
        parts = [weight * functional.binary_cross_entropy_with_logits(shifted, pressed.float(), reduction="none")]
        for i, classes in enumerate(torch.split(logits[:, heads.binary :], list(heads.sizes), 1), heads.binary):
            chosen, before = action[:, i].long(), last[:, i].long()
            loss = functional.cross_entropy(_lifted(classes, before, log_change), chosen, reduction="none")
            parts.append((loss * torch.where(chosen == before, 1.0, self.change))[:, None])
        return torch.cat(parts, 1)


def _lifted(classes: Tensor, before: Tensor, by: float) -> Tensor:
    """Logits of a categorical, higher for all classes but ``before``."""
    if not by:
        return classes
    return classes + torch.full_like(classes, by).scatter_(1, before[:, None], 0.0)


def part_losses(heads: Heads, logits: Tensor, action: Tensor) -> Tensor:
    """Negative log-likelihood of each part of the actions, float [R, A]."""
    return Emphasis(torch.ones(heads.binary)).losses(heads, logits, action, action)


def begin_with(network: ActorCritic, action_counts: ActionCounts) -> None:
    """Set the output biases so that a fresh network predicts the player's action frequencies."""
    log = action_counts.shares.log()
    binary = network.heads.binary
    classes = [log[binary + i, :size] for i, size in enumerate(network.heads.sizes)]
    with torch.no_grad():
        network.out.bias[:-1] = torch.cat([log[:binary, 1] - log[:binary, 0], *classes]).to(network.out.bias)


@dataclass(frozen=True, slots=True)
class Learned:
    """Sums over the decisions of a minibatch, before the step."""

    parts: Tensor  # float64 [A] negative log-likelihood of each part
    changed: float  # the same of the decisions in which the controller changed, over all parts
    changed_rows: int
    rows: int
    grad_norm: float  # before clipping
    skipped: bool  # the gradient was not finite: the weights did not move


class Imitator:
    """Owns the optimizer, the worker threads and the recurrent state of one network. ``learn`` blocks.

    The recurrent state is carried over between lessons, gradients are not. The critic is not trained.
    """

    def __init__(
        self, network: ActorCritic, emphasis: Emphasis, learning_rate: float, max_grad_norm: float, threads: int = 1
    ) -> None:
        self.network = network
        self._emphasis = emphasis
        self.parallel_step = ParallelStep(network, learning_rate, max_grad_norm, threads)
        self.memory = network.first_memory(0)  # [lanes, M]

    def forget(self) -> None:
        """Clear the recurrent state, at the beginning of a pass over the data."""
        self.memory = self.network.first_memory(0)

    def learn(self, lesson: Lesson) -> Learned:
        lesson = lesson.to(self.parallel_step.device)
        memory, rows, heads = _carried(self.network, self.memory, len(lesson)), lesson.rows, self.network.heads
        after = torch.zeros_like(memory)

        def loss(lanes: slice) -> tuple[Tensor, Tensor]:
            decided = decide(self.network, lesson.part(lanes), memory[lanes])
            after[lanes] = decided.memory.detach()
            weighted = self._emphasis.losses(heads, decided.logits, decided.action, decided.last)
            with torch.no_grad():
                plain = part_losses(heads, decided.logits, decided.action)
                changed = (decided.action != decided.last).any(1)
                sums = torch.cat([plain.sum(0), plain[changed].sum()[None], changed.sum()[None]])
            return weighted.sum() / max(rows, 1), sums

        sums, norm = self.parallel_step.step(self.parallel_step.chunks(len(lesson)), differentiated(loss))
        finite = math.isfinite(float(norm))
        self.memory = after if finite else torch.zeros_like(after)
        values = sums.cpu()
        return Learned(values[:-2], float(values[-2]), int(values[-1]), rows, float(norm), skipped=not finite)

    def close(self) -> None:
        self.parallel_step.close()


def look(network: ActorCritic, lessons: Iterable[Lesson]) -> Iterator[Decided]:
    """Run a network on consecutive lessons without training it."""
    memory = network.first_memory(0)
    for lesson in lessons:
        with torch.inference_mode():
            memory = _carried(network, memory, len(lesson))
            decided = decide(network, lesson.to(memory.device), memory)
            memory = decided.memory
        yield decided


def _carried(network: ActorCritic, memory: Tensor, lanes: int) -> Tensor:
    """Recurrent state of the lanes: that after the last lesson, or the initial one."""
    return memory if len(memory) == lanes else network.first_memory(lanes)
