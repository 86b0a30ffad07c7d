"""Group-relative policy optimisation of a language model on its own games (see ``grpo_loss``).

Advantages are computed for all games of an update before batches are made. Micro-batches, threads and processes only
change the rounding.

Letters in shapes: B rows, T tokens of the longest, N tokens that train, n those of one row, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from selfplay.dialogue.packing import row_of, with_advantages
from selfplay.errors import LearnerError
from selfplay.learner.accumulator import Accumulator
from selfplay.learner.advantages import RoleEMA
from selfplay.learner.chunked import chunked_loss, chunks
from selfplay.learner.grpo_loss import (
    LOSS_PARTS,
    GRPOSettings,
    micro_loss,
    token_logprobs,
    truncated_importance,
    whole_of,
)
from selfplay.learner.optimizers import StepSums, adamw
from selfplay.learner.token_batch import (
    F32,
    TokenBatch,
    TrainingRow,
    micro_batches,
    padded,
    shuffled,
    token_weights,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from selfplay.dialogue.instances import DialogueGroup, Instance
    from selfplay.learner.sampling import Sampling
    from selfplay.learner.sharding import ShardedModel


class TokenModel(Protocol):
    """A model that scores tokens. Its owner sets the mode of the module, training or evaluation."""

    @property
    def module(self) -> nn.Module:
        """The module with the parameters; those that require a gradient are trained."""

    @property
    def vocabulary(self) -> int: ...

    @property
    def head(self) -> nn.Module:
        """Gives logits [n, V] of hidden states [n, H]."""

    def hidden(self, tokens: TokenBatch) -> Tensor:
        """[N, H] hidden states that predict the tokens that train, each from all tokens before it."""


class Reference(Protocol):
    """A frozen model, which may share parameters with the one that is trained."""

    def active(self) -> AbstractContextManager[TokenModel]:
        """The model. The one that is trained is not used meanwhile."""


@dataclass(frozen=True, slots=True)
class GRPOStatistics:
    """Statistics of an update. Means are over the tokens of all epochs, without skipped steps."""

    loss: float = 0.0  # mean over the steps
    policy_loss: float = 0.0
    entropy: float = 0.0  # of the sampling distribution
    kl: float = 0.0  # to the reference; 0 without one
    approx_kl: float = 0.0  # from the behaviour policy
    clip_fraction: float = 0.0
    outside: float = 0.0  # share of the tokens outside of the nucleus
    grad_norm: float = 0.0  # before clipping, mean over the steps
    drift: float = 0.0  # maximum |log-probability of learner - of sampler| before the first step
    importance: float = 1.0  # mean importance weight; 1 without correction
    sampler_kl: float = 0.0  # KL(server that sampled, learner) before the first step, per token; 0 without a server
    steps: int = 0
    skipped: int = 0  # steps without a finite gradient, which change no weights
    rows: int = 0  # per epoch
    tokens: int = 0  # of those rows
    groups: int = 0
    singletons: int = 0  # groups of one game
    zero_variance: int = 0  # larger groups with equal rewards

    @property
    def zero_variance_share(self) -> float:
        """Share of the groups with more than one game."""
        return self.zero_variance / max(self.groups - self.singletons, 1)


class GRPOLearner:
    """Owns the optimizer of one model. ``update`` blocks: call it from a thread, never the loop.

    Several processes may share one model, each with its own learner and the same games and generator.
    """

    def __init__(
        self,
        model: TokenModel,
        settings: GRPOSettings,
        sampling: Sampling,
        *,
        reference: Reference | None = None,
        threads: int = 1,
        shared: ShardedModel | None = None,
    ) -> None:
        """Create the optimizer and the worker threads, which share micro-batches on the CPU.

        ``reference`` is a frozen model for the KL divergence, which has the weight ``settings.kl``. ``shared`` has the
        module of the model if several processes train it.

        Raises:
            LearnerError: ``settings.kl`` without a reference.
        """
        if settings.kl and reference is None:
            raise LearnerError(f"a weight of {settings.kl} on the distance to a reference needs a reference")
        self.network = model.module
        self.settings = settings
        self.baseline = RoleEMA(settings.baseline_decay) if settings.baseline == "role-ema" else None
        self._model = model
        self._sampling = sampling
        self._reference = reference
        optimizer = adamw(model.module, settings.learning_rate, settings.weight_decay)
        self._work = Accumulator(optimizer, settings.max_grad_norm, threads, shared)
        self.device = self._work.device
        self.optimizer = optimizer

    def close(self) -> None:
        self._work.close()

    def logprobs(self, instances: Sequence[Instance]) -> list[F32]:
        """[T] log-probabilities of each instance's sampled tokens under the current model, 0 elsewhere.

        Tokens outside of the nucleus have minus infinity.
        """
        scores = self._scores(self._model, [row_of(instance) for instance in instances], self._sampling)
        found = []
        for instance, score in zip(instances, scores, strict=True):
            whole = np.zeros(len(instance.ids), np.float32)
            whole[instance.sampled] = score
            found.append(whole)
        return found

    def update(
        self, groups: Iterable[DialogueGroup], generator: torch.Generator, stop: Callable[[], bool] = lambda: False
    ) -> GRPOStatistics:
        """Learn from the games of an iteration; the generator draws the order of the rows.

        ``stop`` is called before each optimizer step; True ends the update early.

        Single games and equal rewards train only with a baseline across states.

        Raises:
            LearnerError: an invalid row (``row_of``), or a reward is not finite.
        """
        advantages = with_advantages(groups, self.settings.advantage, self.baseline)
        rows = [row_of(instance, advantage) for instance, advantage in advantages.instances]
        totals = _Totals(torch.zeros(len(LOSS_PARTS), dtype=torch.float64, device=self.device))
        rows = self._with_importance(self._with_reference(rows), totals)
        for _ in range(self.settings.epochs if rows else 0):
            for batch in shuffled(rows, self.settings.batch_rows, generator):
                if stop():
                    break
                self._step(batch, totals)
            if stop():
                break
        return totals.statistics(
            rows=len(rows),
            tokens=sum(row.tokens for row in rows),
            groups=advantages.groups,
            singletons=advantages.singletons,
            zero_variance=advantages.zero_variance,
        )

    def _step(self, batch: Sequence[TrainingRow], totals: _Totals) -> None:
        settings = self.settings
        weights = token_weights(batch, settings.loss_agg, settings.row_tokens)

        def loss(numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
            rows = [batch[number] for number in numbers]
            return self._loss(padded(rows, [weights[number] for number in numbers], self.device))

        weight = sum(weight * row.tokens for weight, row in zip(weights, batch, strict=True))
        found, norm = self._work.step(self._micros(batch), loss, weight)
        none = torch.zeros(len(LOSS_PARTS) + 1, dtype=torch.float64, device=self.device)
        parts = torch.stack([none, *found])
        sums = self._work.add_up(parts[:, :-1].sum(0))
        if totals.drift is None:
            totals.drift = float(self._work.add_up(parts[:, -1].max(), greatest=True))
        totals.add(sums, norm, sum(row.tokens for row in batch))

    def _micros(self, rows: Sequence[TrainingRow]) -> list[list[int]]:
        return micro_batches(rows, self.settings.micro_tokens, self._work.parts, self.settings.micro_rows)

    def _loss(self, tokens: TokenBatch) -> tuple[Tensor, Tensor]:
        def loss(logits: Tensor, part: slice) -> tuple[Tensor, Tensor]:
            return micro_loss(logits, tokens.targets[part], self.settings, self._sampling)

        model = self._model
        with self._autocast():
            total, found = chunked_loss(model.hidden(tokens), model.head, loss, model.vocabulary)
        return total, torch.cat([found[:, :-1].sum(0), found[:, -1:].amax(0)])

    def _autocast(self) -> AbstractContextManager[None]:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.bf16)

    def _with_reference(self, rows: list[TrainingRow]) -> list[TrainingRow]:
        """Add the log-probabilities of the reference, if any."""
        if self._reference is None:
            return rows
        with self._reference.active() as model:
            scores = self._scores(model, rows, whole_of(self._sampling))
        return [replace(row, reference=score) for row, score in zip(rows, scores, strict=True)]

    def _with_importance(self, rows: list[TrainingRow], totals: _Totals) -> list[TrainingRow]:
        """For samples of a server: take ratios to the current model, and add importance weights.

        A token that the model would not sample has weight 0, and keeps its log-probability.
        """
        if not self.settings.truncate or not rows:
            return rows
        found, weights, drift, apart, tokens = [], [], 0.0, 0.0, 0
        for row, score in zip(rows, self._scores(self._model, rows, self._sampling), strict=True):
            ours, theirs = torch.from_numpy(score), torch.from_numpy(row.logprob)
            known = ours > -torch.inf
            weight = truncated_importance(ours, theirs, self.settings.truncate).numpy()
            gaps = (theirs - ours).where(known, 0.0)
            drift, apart, tokens = max(drift, float(gaps.abs().max())), apart + float(gaps.sum()), tokens + len(gaps)
            found.append(replace(row, logprob=torch.where(known, ours, theirs).numpy(), importance=weight))
            weights.append(weight)
        totals.drift, totals.importance = drift, float(np.concatenate(weights).mean())
        totals.sampler_kl = apart / tokens
        return found

    def _scores(self, model: TokenModel, rows: Sequence[TrainingRow], sampling: Sampling) -> list[F32]:
        """[n] log-probabilities of the tokens of each row."""

        def score(numbers: Sequence[int]) -> Tensor:
            tokens = padded([rows[number] for number in numbers], [0.0] * len(numbers), self.device)
            with self._autocast():
                hidden = model.hidden(tokens)
                return torch.cat([
                    token_logprobs(model.head(hidden[part]), tokens.targets.taken[part], sampling)[0]
                    for part in chunks(len(hidden), model.vocabulary)
                ])  # fmt: skip

        ends = np.cumsum([0, *(row.tokens for row in rows)])
        every = torch.zeros(int(ends[-1]), device=self.device)
        for numbers, scored in self._work.map(self._micros(rows), score):
            places = [np.arange(ends[number], ends[number + 1]) for number in numbers]
            every[torch.from_numpy(np.concatenate(places)).to(self.device)] = scored
        self._work.add_up(every)
        return np.split(every.cpu().numpy(), ends[:-1])[1:]  # no array without rows


@dataclass(slots=True)
class _Totals(StepSums):
    """The sums of ``LOSS_PARTS`` over the tokens, and what is measured once an update."""

    drift: float | None = None  # None: not measured yet
    importance: float = 1.0
    sampler_kl: float = 0.0

    def statistics(self, **counts: int) -> GRPOStatistics:
        loss, *sums = self.sums.tolist()
        means = {name: value / max(self.count, 1) for name, value in zip(LOSS_PARTS[1:], sums, strict=True)}
        steps = len(self.norms)
        return GRPOStatistics(
            **counts,
            **means,
            loss=loss / max(steps, 1),
            grad_norm=sum(map(float, self.norms)) / max(steps, 1),
            drift=self.drift or 0.0,
            importance=self.importance,
            sampler_kl=self.sampler_kl,
            steps=steps + self.skipped,
            skipped=self.skipped,
        )
