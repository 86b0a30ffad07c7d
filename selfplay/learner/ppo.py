"""Proximal policy optimisation (Schulman et al. 2017, https://arxiv.org/abs/1707.06347), clipped variant.

One item of a batch is one decision of the learner or, for a network with memory, T of them in a row: advantages are
normalised over all decisions, and each epoch visits the items once in a fresh random order, in minibatches.

A policy that was pretrained can be held near its teacher by KL terms, and an update that moved the policy too far is
taken back whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from selfplay.learner.adam import State
from selfplay.learner.ppo_loss import LOSS_PARTS, ChunkGradient, PPOSettings, outputs
from selfplay.learner.stepper import Stepper
from selfplay.policy.heads import logprob_entropy, masked

if TYPE_CHECKING:
    from selfplay.learner.batch import Batch
    from selfplay.policy.network import ActorCritic


@dataclass(frozen=True, slots=True)
class UpdateMetrics:
    """Means over all rows of an update; ``epochs`` counts what an early stop left."""

    policy_loss: float
    value_loss: float
    loss: float
    entropy: float
    approx_kl: float
    clip_fraction: float
    explained_variance: float
    grad_norm: float
    epochs: int
    minibatches: int
    skipped: int  # minibatches whose gradient was not finite; the weights did not move, the means leave them out
    teacher_kl: float = 0.0  # mean KL(teacher, policy), 0 without a teacher
    teacher_kl_reverse: float = 0.0  # mean KL(policy, teacher)
    step_kl: float = 0.0  # mean KL(policy before, policy after) of the update, on a minibatch; 0 where not asked for
    reverted: int = 0  # 1: that was too much, and the update was taken back
    critic_only: bool = False  # the policy stood still


_Before = tuple[dict[str, Tensor], State]


class PPO:
    """Owns the optimiser of one network. ``update`` blocks: call it from a thread, never the loop."""

    def __init__(self, network: ActorCritic, settings: PPOSettings, *, threads: int = 1) -> None:
        self.network = network
        self.settings = settings
        self._full = settings
        self._stepper = Stepper(network, settings.learning_rate, settings.max_grad_norm, threads)
        self.device = self._stepper.device
        self.optimizer = self._stepper.optimizer
        self._gradient = ChunkGradient(network)

    def begin(self, weights: Mapping[str, Tensor]) -> None:
        """Take these weights, and know nothing of the gradients that led here."""
        self._stepper.begin(weights)

    def forget_gradients(self) -> None:
        """Let the optimiser begin anew: it counted steps of a policy at rest, and would move it too far now."""
        self.optimizer.state.clear()

    def scale(self, factor: float) -> None:
        """Set learning rate and entropy bonus to this share of their settings."""
        full = self._full
        self.settings = replace(
            full,
            learning_rate=full.learning_rate * factor,
            entropy_coefficient=full.entropy_coefficient * factor,
        )
        self.optimizer.learning_rate = self.settings.learning_rate

    def close(self) -> None:
        """Let the worker threads go."""
        self._stepper.close()

    def update(
        self,
        batch: Batch,
        generator: torch.Generator,
        stop: Callable[[], bool] = lambda: False,
        *,
        critic_only: bool = False,
    ) -> UpdateMetrics:
        """Learn from one batch.

        Args:
            batch: of an iteration.
            generator: draws the order of the items.
            stop: is asked before each minibatch and ends the update early.
            critic_only: fit the value alone, from what the network sees in a state already: the policy does not move.
        """
        settings, explained = self.settings, _explained_variance(batch.flat())
        decisions = batch.decisions
        batch = _normalised(batch)
        before = self._copy() if settings.step_kl and not critic_only else None
        size = max(1, min(settings.batch_size * len(batch) // max(decisions, 1), len(batch)))
        tally = _Tally(torch.zeros(len(LOSS_PARTS), dtype=torch.float64, device=self.device))
        epochs = 0
        while epochs < settings.epochs:
            moved = self._epoch(batch, size, generator, stop, tally, critic_only=critic_only)
            epochs += 1
            if stop() or (settings.target_kl and moved > settings.target_kl):
                break
        means = dict(zip(LOSS_PARTS, (tally.sums / max(tally.decisions, 1)).tolist(), strict=True))
        step_kl, reverted = self._guard(batch, before, size) if before is not None else (0.0, 0)
        return UpdateMetrics(
            **means,
            loss=settings.loss_of(means),
            explained_variance=explained,
            grad_norm=float(torch.stack(tally.norms).mean()) if tally.norms else 0.0,
            epochs=epochs,
            minibatches=len(tally.norms) + tally.skipped,
            skipped=tally.skipped,
            step_kl=step_kl,
            reverted=reverted,
            critic_only=critic_only,
        )

    def _epoch(
        self,
        batch: Batch,
        size: int,
        generator: torch.Generator,
        stop: Callable[[], bool],
        tally: _Tally,
        *,
        critic_only: bool,
    ) -> float:
        """Visit every item once, ``size`` at a time; the mean KL from the behaviour policy meanwhile."""
        order = torch.randperm(len(batch), generator=generator).to(self.device)
        kl, decisions = torch.zeros((), dtype=torch.float64, device=self.device), 0
        for start in range(0, len(batch), size):
            if stop():
                break
            index = order[start : start + size]
            count = batch.decisions_of(index)
            sums, norm = self._step(batch, index, count, critic_only=critic_only)
            if not bool(torch.isfinite(norm)):
                tally.skipped += 1
                continue
            tally.sums += sums
            tally.norms.append(norm)
            kl += sums[LOSS_PARTS.index("approx_kl")]
            decisions += count
        tally.decisions += decisions
        return float(kl) / max(decisions, 1)

    def _step(self, batch: Batch, index: Tensor, decisions: int, *, critic_only: bool) -> tuple[Tensor, Tensor]:
        """One minibatch, the items ``index``, see ``Stepper.step``; sums in the order of LOSS_PARTS."""
        only = None
        if critic_only:
            only = torch.zeros(len(self.network.out.bias), device=self.device)
            only[-1] = 1.0

        def gradients_of(cut: slice, moving: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
            share = 1.0 / max(decisions, 1)
            return self._gradient(batch, index[cut], self.settings, moving, share=share, critic_only=critic_only)

        return self._stepper.step(self._stepper.cuts(len(index), batch.width), gradients_of, only)

    def _copy(self) -> _Before:
        """Weights and optimiser as they are, to go back to."""
        weights = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
        return weights, self.optimizer.copy()

    def _guard(self, batch: Batch, before: _Before, size: int) -> tuple[float, int]:
        """How far the update moved the policy, on a minibatch of its batch; taken back where that is too far."""
        stride = max(1, len(batch) // size)
        part = batch.items(slice(None, None, stride))
        with torch.no_grad():
            logits, played = outputs(self.network, part)[:, :-1], part.flat()
            after = logprob_entropy(self.network.heads, masked(logits, played.legal), played.action)[0]
            log_ratio = after - played.logprob
            moved = float((log_ratio.exp() - 1 - log_ratio).mean())
        if moved <= self.settings.step_kl:  # a NaN is no such number
            return moved, 0
        weights, state = before
        self.network.load_state_dict(weights)
        self.optimizer.state = state
        return moved, 1


@dataclass(slots=True)
class _Tally:
    """Of the minibatches of an update whose gradient was finite."""

    sums: Tensor  # float64 [len(LOSS_PARTS)]
    norms: list[Tensor] = field(default_factory=list)  # of gradients
    decisions: int = 0
    skipped: int = 0  # the others


def _normalised(batch: Batch) -> Batch:
    """With advantages of mean 0 and spread 1 over all decisions that train."""
    played = batch.flat().advantage
    spread, mean = torch.std_mean(played) if len(played) > 1 else (torch.ones(()), torch.zeros(()))
    return replace(batch, advantage=(batch.advantage - mean) / (spread + 1e-8))


def _explained_variance(batch: Batch) -> float:
    """1 - Var(R - V) / Var(R): 1 perfect, 0 no better than the mean, 0 also where returns do not vary."""
    if len(batch) < 2:
        return 0.0
    variance = batch.target.var()
    return 0.0 if float(variance) == 0 else float(1 - (batch.target - batch.value).var() / variance)
