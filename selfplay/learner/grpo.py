"""Group-relative policy optimisation of a language model by games that it played (see ``grpo_loss``).

Advantages are made for all games of an update before they are cut into batches. How a batch is cut into micro-batches,
and over how many threads and processes, changes the rounding only.

Letters in shapes: B rows, T tokens of the longest, N tokens that train, n those of one row, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from selfplay.errors import LearnerError
from selfplay.learner.accumulator import Accumulator, adamw
from selfplay.learner.advantages import RoleEMA, weigh
from selfplay.learner.dialogue_batch import F32, Row, TokenBatch, by_length, padded, row_of, shuffled, token_weights
from selfplay.learner.grpo_loss import (
    LOSS_PARTS,
    GRPOSettings,
    micro_loss,
    token_logprobs,
    truncated_importance,
    whole_of,
)

if TYPE_CHECKING:
    from selfplay.policy.language.sampling import Sampling
    from selfplay.rollout.dialogue import DialogueGroup, Instance


class TokenModel(Protocol):
    """A model that scores tokens. Its owner sets the mode of the module, training or evaluation."""

    @property
    def module(self) -> nn.Module:
        """The module with the parameters; those that require a gradient are trained."""

    def logits(self, ids: Tensor, where: Tensor) -> Tensor:
        """Logits [N, V] of the marked tokens, each predicted from all tokens before it.

        Args:
            ids: int64 [B, T], padded on the right with any ids; the model is causal, so padding needs no mask.
            where: bool [B, T], never the first of a row. The logits are in its order: row by row, left to right.
        """


@dataclass(frozen=True, slots=True)
class GRPOStatistics:
    """Of an update. Means are over the tokens that trained, in all epochs; those of skipped steps are left out."""

    loss: float = 0.0  # mean over the steps
    policy_loss: float = 0.0
    entropy: float = 0.0  # of the distribution that is sampled from
    kl: float = 0.0  # to the reference; 0 without one
    approx_kl: float = 0.0  # from the policy that played
    clip_fraction: float = 0.0
    outside: float = 0.0  # share of the tokens that fell out of the nucleus
    grad_norm: float = 0.0  # before it was clipped, mean over the steps
    drift: float = 0.0  # greatest |log-probability by the learner - by the sampler| before the first step
    importance: float = 1.0  # mean weight of the samples; 1 where nothing is corrected
    steps: int = 0
    skipped: int = 0  # steps whose gradient was not finite; the weights did not move
    rows: int = 0  # that trained, in each epoch
    tokens: int = 0  # of those, that trained
    groups: int = 0
    singletons: int = 0  # groups of one game
    zero_variance: int = 0  # groups of more, all of one reward

    @property
    def zero_variance_share(self) -> float:
        """Of the groups with more than one game."""
        return self.zero_variance / max(self.groups - self.singletons, 1)


class GRPOLearner:
    """Owns the optimizer of one model. ``update`` blocks: call it from a thread, never the loop.

    Several processes of ``torch.distributed`` train one model, each with a learner of its own that is given the same
    games, generator and answers of ``stop``.
    """

    def __init__(
        self,
        model: TokenModel,
        settings: GRPOSettings,
        sampling: Sampling,
        *,
        reference: TokenModel | None = None,
        threads: int = 1,
    ) -> None:
        """Create the optimizer and the worker threads.

        Args:
            model: is trained.
            settings: of the update.
            sampling: that its replies are sampled with.
            reference: a frozen model; the KL divergence to it is measured, and weighted by ``settings.kl``.
            threads: that share the micro-batches, on the CPU.

        Raises:
            LearnerError: ``settings.kl`` is not 0 and there is no reference.
        """
        if settings.kl and reference is None:
            raise LearnerError(f"a weight of {settings.kl} on the distance to a reference needs a reference")
        self.network = model.module
        self.settings = settings
        self.baseline = RoleEMA(settings.baseline_decay) if settings.baseline == "role-ema" else None
        self._model = model
        self._sampling = sampling
        self._reference = reference
        optimizer = adamw(model.module, settings.learning_rate, settings.weight_decay, settings.adam_eps)
        self._work = Accumulator(optimizer, settings.max_grad_norm, threads)
        self.device = self._work.device
        self.optimizer = optimizer

    @property
    def learning_rate(self) -> float:
        """Of the next step."""
        return float(self.optimizer.param_groups[0]["lr"])

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self.optimizer.param_groups[0]["lr"] = rate

    def close(self) -> None:
        """End the worker threads."""
        self._work.close()

    def logprobs(self, instances: Sequence[Instance]) -> list[F32]:
        """[T] of each instance: what the model now gives its sampled tokens, 0 elsewhere.

        Minus infinity stands for a token that would not be sampled, being outside of the nucleus.
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
        """Learn from the games of an iteration.

        Args:
            groups: of games; a group of one, or of one reward, trains only where there is a baseline across states.
            generator: draws the order of the rows.
            stop: called before each step; True ends the update early.

        Raises:
            LearnerError: a row cannot be trained (``row_of``), or a reward is not finite.
        """
        weighed = weigh(groups, self.settings.advantage, self.baseline)
        rows = [row_of(instance, advantage) for instance, advantage in weighed.instances]
        tally = _Tally(torch.zeros(len(LOSS_PARTS), dtype=torch.float64, device=self.device))
        rows = self._with_importance(self._with_reference(rows), tally)
        for _ in range(self.settings.epochs if rows else 0):
            for batch in shuffled(rows, self.settings.batch_rows, generator):
                if stop():
                    break
                self._step(batch, tally)
        return tally.statistics(
            rows=len(rows),
            tokens=sum(row.tokens for row in rows),
            groups=weighed.groups,
            singletons=weighed.singletons,
            zero_variance=weighed.zero_variance,
        )

    def _step(self, batch: Sequence[Row], tally: _Tally) -> None:
        """One optimizer step on one batch."""
        settings = self.settings
        weights = token_weights(batch, settings.loss_agg, settings.row_tokens)

        def loss(numbers: Sequence[int]) -> tuple[Tensor, Tensor]:
            rows = [batch[number] for number in numbers]
            tokens = padded(rows, [weights[number] for number in numbers], self.device)
            return micro_loss(self._logits(self._model, tokens), tokens, settings, self._sampling)

        found, norm = self._work.step(by_length(batch, settings.micro_rows), loss)
        none = torch.zeros(len(LOSS_PARTS) + 1, dtype=torch.float64, device=self.device)
        parts = torch.stack([none, *found])
        sums = self._work.add_up(parts[:, :-1].sum(0))
        if tally.drift is None:
            tally.drift = float(self._work.add_up(parts[:, -1].max(), greatest=True))
        tally.add(sums, norm, sum(row.tokens for row in batch))

    def _logits(self, model: TokenModel, tokens: TokenBatch) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.bf16):
            return model.logits(tokens.ids, tokens.where)

    def _with_reference(self, rows: list[Row]) -> list[Row]:
        """With the log-probabilities of the reference, where there is one."""
        if self._reference is None:
            return rows
        scores = self._scores(self._reference, rows, whole_of(self._sampling))
        return [replace(row, reference=score) for row, score in zip(rows, scores, strict=True)]

    def _with_importance(self, rows: list[Row], tally: _Tally) -> list[Row]:
        """Where samples came from elsewhere: the ratio is taken to the model as it is now, the rest is a weight.

        A token that the model would not sample weighs nothing, and keeps the log-probability it came with.
        """
        if not self.settings.truncate or not rows:
            return rows
        found, weights, drift = [], [], 0.0
        for row, score in zip(rows, self._scores(self._model, rows, self._sampling), strict=True):
            here, there = torch.from_numpy(score), torch.from_numpy(row.logprob)
            known = here > -torch.inf
            weight = truncated_importance(here, there, self.settings.truncate).numpy()
            drift = max(drift, float((here - there).where(known, 0.0).abs().max()))
            found.append(replace(row, logprob=torch.where(known, here, there).numpy(), importance=weight))
            weights.append(weight)
        tally.drift, tally.importance = drift, float(np.concatenate(weights).mean())
        return found

    def _scores(self, model: TokenModel, rows: Sequence[Row], sampling: Sampling) -> list[F32]:
        """[n] log-probabilities of the tokens of each row."""

        def score(numbers: Sequence[int]) -> Tensor:
            tokens = padded([rows[number] for number in numbers], [0.0] * len(numbers), self.device)
            return token_logprobs(self._logits(model, tokens), tokens.taken, sampling)[0]

        ends = np.cumsum([0, *(row.tokens for row in rows)])
        every = torch.zeros(int(ends[-1]), device=self.device)
        for numbers, scored in self._work.map(by_length(rows, self.settings.micro_rows), score):
            places = [np.arange(ends[number], ends[number + 1]) for number in numbers]
            every[torch.from_numpy(np.concatenate(places)).to(self.device)] = scored
        self._work.add_up(every)
        return np.split(every.cpu().numpy(), ends[:-1])[1:]  # no array where there is no row


@dataclass(slots=True)
class _Tally:
    """Sums over the steps of an update whose gradient was finite."""

    sums: Tensor  # float64 [len(LOSS_PARTS)]
    norms: list[float] = field(default_factory=list)
    tokens: int = 0
    skipped: int = 0  # the other steps
    drift: float | None = None  # None: nothing was scored so far
    importance: float = 1.0

    def add(self, sums: Tensor, norm: Tensor, tokens: int) -> None:
        """Count one step."""
        if not bool(torch.isfinite(norm)):
            self.skipped += 1
            return
        self.sums += sums
        self.norms.append(float(norm))
        self.tokens += tokens

    def statistics(self, **counts: int) -> GRPOStatistics:
        """Means of what was counted."""
        loss, *sums = self.sums.tolist()
        means = {name: value / max(self.tokens, 1) for name, value in zip(LOSS_PARTS[1:], sums, strict=True)}
        steps = len(self.norms)
        return GRPOStatistics(
            **counts,
            **means,
            loss=loss / max(steps, 1),
            grad_norm=sum(self.norms) / max(steps, 1),
            drift=self.drift or 0.0,
            importance=self.importance,
            steps=steps + self.skipped,
            skipped=self.skipped,
        )
