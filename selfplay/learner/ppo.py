"""Proximal policy optimisation (Schulman et al. 2017, https://arxiv.org/abs/1707.06347), clipped variant.

N rows; one row is one (observation, action) of the learner. All of an iteration's rows are one batch: advantages
are normalised over it, and each epoch visits it once in a fresh random order, in minibatches.

On the CPU a minibatch is cut into one chunk for each thread and every thread runs torch single-threaded: there is
one barrier a minibatch instead of one an operation, which is faster and survives a busy machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from selfplay.policy.heads import logprob_entropy, masked

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class Batch:
    """What an update learns from, all [N, ...] on the learner's device."""

    obs: Tensor  # float [N, D]
    action: Tensor  # int8 [N, A]
    logprob: Tensor  # float [N] of the behaviour policy
    value: Tensor  # float [N] V(s) when it was played
    advantage: Tensor  # float [N]; ``PPO.update`` normalises it
    target: Tensor  # float [N] what V(s) should have been: advantage + value
    legal: Tensor | None = None  # bool [N, logits] what could be chosen; None: everything

    def __len__(self) -> int:
        return len(self.obs)

    def rows(self, index: Tensor | slice) -> Batch:
        """Some rows: a copy where an index tensor asks for them, a view where a slice does."""
        return Batch(
            self.obs[index],
            self.action[index],
            self.logprob[index],
            self.value[index],
            self.advantage[index],
            self.target[index],
            None if self.legal is None else self.legal[index],
        )


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


# Sums over the rows of a chunk, in the order of LOSS_PARTS.
LOSS_PARTS = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")


def chunk_loss(network: ActorCritic, batch: Batch, settings: PPOSettings) -> tuple[Tensor, Tensor]:
    """Sum of the loss over the rows, and the sums of its parts [5].

        ratio = pi(a|s) / pi_old(a|s)
        policy = -min(ratio A, clip(ratio, 1-c, 1+c) A)
        value  = 1/2 max((V - R)^2, (V_old + clip(V - V_old, -vc, vc) - R)^2)
        loss   = policy + c_v value - c_e entropy

    with R the target and A the normalised advantage.
    """
    logits, value = network(batch.obs)
    logprob, entropy = logprob_entropy(network.heads, masked(logits, batch.legal), batch.action)
    log_ratio = logprob - batch.logprob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    policy_loss = -torch.min(ratio * batch.advantage, clipped * batch.advantage).sum()
    near = batch.value + (value - batch.value).clamp(-settings.value_clip, settings.value_clip)
    value_loss = 0.5 * torch.max((value - batch.target).square(), (near - batch.target).square()).sum()
    loss = policy_loss + settings.value_coefficient * value_loss - settings.entropy_coefficient * entropy.sum()
    with torch.no_grad():
        # k3 estimator: unbiased and never negative (Schulman 2020, http://joschu.net/blog/kl-approx.html)
        kl = (ratio - 1 - log_ratio).sum()
        outside = ((ratio - 1).abs() > settings.clip).sum()
        parts = torch.stack([policy_loss, value_loss, entropy.sum(), kl, outside])
    return loss, parts


class PPO:
    """Owns optimiser and worker threads of one network. ``update`` blocks: call it from a thread, never the loop."""

    def __init__(self, network: ActorCritic, settings: PPOSettings, *, threads: int = 1) -> None:
        self.network = network
        self.settings = settings
        self._full = settings
        self.parameters = list(network.parameters())
        self.device = self.parameters[0].device
        self.optimizer = torch.optim.Adam(
            self.parameters, settings.learning_rate, eps=1e-5, fused=self.device.type in ("cpu", "cuda")
        )
        self._threads = threads if self.device.type == "cpu" else 1
        self._pool = ThreadPoolExecutor(self._threads, "learner", initializer=torch.set_num_threads, initargs=(1,))

    def begin(self, weights: Mapping[str, Tensor]) -> None:
        """Take these weights, and know nothing of the gradients that led here."""
        self.network.load_state_dict(dict(weights))
        self.optimizer.state.clear()

    def scale(self, factor: float) -> None:
        """Set learning rate and entropy bonus to this share of their settings."""
        full = self._full
        self.settings = replace(
            full,
            learning_rate=full.learning_rate * factor,
            entropy_coefficient=full.entropy_coefficient * factor,
        )
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate

    def close(self) -> None:
        """Let the worker threads go."""
        self._pool.shutdown()

    def update(
        self, batch: Batch, generator: torch.Generator, stop: Callable[[], bool] = lambda: False
    ) -> UpdateMetrics:
        """Learn from one batch. ``stop`` is asked before each minibatch and ends the update early."""
        settings, rows = self.settings, len(batch)
        spread, mean = torch.std_mean(batch.advantage) if rows > 1 else (torch.ones(()), torch.zeros(()))
        explained = _explained_variance(batch.value, batch.target)
        batch = replace(batch, advantage=(batch.advantage - mean) / (spread + 1e-8))
        size = min(settings.batch_size, rows)
        totals = torch.zeros(len(LOSS_PARTS), dtype=torch.float64, device=self.device)
        norms: list[Tensor] = []
        seen = skipped = epochs = 0
        for _ in range(settings.epochs):
            order = torch.randperm(rows, generator=generator).to(self.device)
            epoch_kl = torch.zeros((), dtype=torch.float64, device=self.device)
            visited = 0
            for start in range(0, rows, size):
                if stop():
                    break
                part = batch.rows(order[start : start + size])
                sums, norm = self._step(part)
                if not bool(torch.isfinite(norm)):
                    skipped += 1
                    continue
                visited += len(part)
                totals += sums
                epoch_kl += sums[3]
                norms.append(norm)
            seen += visited
            epochs += 1
            if stop() or (settings.target_kl and float(epoch_kl) > settings.target_kl * visited):
                break
        means = dict(zip(LOSS_PARTS, (totals / max(seen, 1)).tolist(), strict=True))
        loss = (
            means["policy_loss"]
            + settings.value_coefficient * means["value_loss"]
            - settings.entropy_coefficient * means["entropy"]
        )
        grad_norm = float(torch.stack(norms).mean()) if norms else 0.0
        return UpdateMetrics(
            **means,
            loss=loss,
            explained_variance=explained,
            grad_norm=grad_norm,
            epochs=epochs,
            minibatches=len(norms) + skipped,
            skipped=skipped,
        )

    def _step(self, part: Batch) -> tuple[Tensor, Tensor]:
        """One minibatch: gradients of all chunks, summed in a fixed order, clipped, applied unless not finite."""
        rows, threads = len(part), self._threads
        cuts = [rows * i // threads for i in range(threads + 1)]
        chunks = [part.rows(slice(a, b)) for a, b in pairwise(cuts) if a < b]
        done = [self._pool.submit(self._gradients, chunk, rows) for chunk in chunks]
        results = [future.result() for future in done]
        gradients, sums = results[0]
        for more, more_sums in results[1:]:
            torch._foreach_add_(gradients, more)
            sums = sums + more_sums
        norm = nn.utils.get_total_norm(gradients)
        if bool(torch.isfinite(norm)):
            scale = (self.settings.max_grad_norm / (norm + 1e-6)).clamp(max=1.0)
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                parameter.grad = gradient.mul_(scale)
            self.optimizer.step()
        return sums, norm

    def _gradients(self, chunk: Batch, rows: int) -> tuple[list[Tensor], Tensor]:
        loss, parts = chunk_loss(self.network, chunk, self.settings)
        gradients = torch.autograd.grad(loss / rows, self.parameters)
        return list(gradients), parts.double()


def _explained_variance(value: Tensor, returns: Tensor) -> float:
    """1 - Var(R - V) / Var(R): 1 perfect, 0 no better than the mean, 0 also where returns do not vary."""
    if len(returns) < 2:
        return 0.0
    variance = returns.var()
    return 0.0 if float(variance) == 0 else float(1 - (returns - value).var() / variance)
