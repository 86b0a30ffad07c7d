"""Supervised training of a language model: cross-entropy of the marked tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from selfplay.dialogue.packing import row_of
from selfplay.learner.accumulator import Accumulator
from selfplay.learner.optimizers import adamw
from selfplay.learner.token_batch import by_length, padded, token_weights

if TYPE_CHECKING:
    from torch import nn

    from selfplay.dialogue.grpo import TokenModel
    from selfplay.dialogue.instances import Instance


@dataclass(frozen=True, slots=True)
class SupervisedSettings:
    """Coefficients of the update."""

    learning_rate: float = 2e-3
    last_rate: float = 0.05  # of the learning rate, at the end
    warmup: float = 0.02  # of the training
    weight_decay: float = 0.05
    max_grad_norm: float = 1.0
    micro_rows: int = 16
    bf16: bool = False


@final
class SupervisedLearner:
    """Owns the optimizer of one model. ``step`` blocks."""

    def __init__(self, model: TokenModel, settings: SupervisedSettings, threads: int = 1) -> None:
        self._model = model
        self._settings = settings
        optimizer = adamw(model.module, settings.learning_rate, settings.weight_decay)
        optimizer.param_groups[0]["betas"] = (0.9, 0.95)  # gradients of a model from scratch change fast
        self._work = Accumulator(optimizer, settings.max_grad_norm, threads)

    @property
    def network(self) -> nn.Module:
        return self._model.module

    @property
    def optimizer(self) -> torch.optim.AdamW:
        return self._work.optimizer

    def step(self, lessons: Sequence[Instance], done: float) -> float:
        """Train on some rows; returns the mean loss of their tokens, in nats.

        ``done``, the share of the training that is done, sets the learning rate: a linear rise, then half a cosine.
        """
        settings = self._settings
        rise = min(1.0, (done + 1e-9) / settings.warmup) if settings.warmup else 1.0
        fall = settings.last_rate + (1 - settings.last_rate) * (1 + math.cos(math.pi * done)) / 2
        self._work.optimizer.param_groups[0]["lr"] = settings.learning_rate * max(0.01, rise) * fall
        rows = [row_of(lesson) for lesson in lessons]
        weights = token_weights(rows, "token-mean", 0)

        def loss(numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
            device = self._work.device
            tokens = padded([rows[number] for number in numbers], [weights[number] for number in numbers], device)
            with torch.autocast(device.type, torch.bfloat16, enabled=settings.bf16):
                logits = self._model.logits(tokens.ids, tokens.where)
            total = (cross_entropy(logits.float(), tokens.taken, reduction="none") * tokens.weight).sum()
            return total, total.detach()

        found, _ = self._work.step(by_length(rows, settings.micro_rows), loss)
        return float(torch.stack(found).sum())

    def close(self) -> None:
        self._work.close()
