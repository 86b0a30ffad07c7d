"""Supervised training of a language model: cross-entropy of the marked tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from selfplay.dialogue.packing import row_of
from selfplay.learner.accumulator import Accumulator
from selfplay.learner.chunked import chunked_loss
from selfplay.learner.optimizers import adamw
from selfplay.learner.token_batch import micro_batches, padded, token_weights

if TYPE_CHECKING:
    from torch import nn

    from selfplay.dialogue.grpo import TokenModel
    from selfplay.dialogue.instances import Instance


LAST_RATE: Final = 0.05  # of the learning rate, at the end
WARMUP: Final = 0.02  # of the training
WEIGHT_DECAY: Final = 0.05
MAX_GRAD_NORM: Final = 1.0
MICRO_TOKENS: Final = 2048


@final
class SupervisedLearner:
    """Owns the optimizer of one model. ``step`` blocks."""

    def __init__(self, model: TokenModel, learning_rate: float, threads: int = 1) -> None:
        self._model = model
        self._learning_rate = learning_rate
        optimizer = adamw(model.module, learning_rate, WEIGHT_DECAY)
        optimizer.param_groups[0]["betas"] = (0.9, 0.95)  # gradients of a model from scratch change fast
        self._work = Accumulator(optimizer, MAX_GRAD_NORM, threads)

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
        rise = min(1.0, (done + 1e-9) / WARMUP)
        fall = LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * done)) / 2
        self._work.optimizer.param_groups[0]["lr"] = self._learning_rate * max(0.01, rise) * fall
        rows = [row_of(lesson) for lesson in lessons]
        weights = token_weights(rows, "token-mean", 0)

        def loss(numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
            chosen = [rows[number] for number in numbers], [weights[number] for number in numbers]
            tokens = padded(*chosen, self._work.device)

            def part_loss(logits: Tensor, part: slice) -> tuple[Tensor, Tensor]:
                targets = tokens.targets[part]
                total = (cross_entropy(logits.float(), targets.taken, reduction="none") * targets.weight).sum()
                return total, total.detach()

            model = self._model
            total, found = chunked_loss(model.hidden(tokens), model.head, part_loss, model.vocabulary)
            return total, found.sum()

        found, _ = self._work.step(micro_batches(rows, MICRO_TOKENS, self._work.parts), loss)
        return float(torch.stack(found).sum())

    def close(self) -> None:
        self._work.close()
