"""Proximal policy optimization (Schulman et al. 2017, https://arxiv.org/abs/1707.06347), clipped variant.

``surrogate_terms`` and ``reference_terms`` define the loss:

    ratio = pi(a|s) / pi_old(a|s)
    policy = -min(ratio A, clip(ratio, 1-c, 1+c) A)
    value  = 1/2 max((V - R)^2, (V_old + clip(V - V_old, -v, v) - R)^2)
    loss   = policy + c_v value - c_e entropy + c_t KL(teacher, pi) + c_r KL(pi, teacher) + c_u KL(uniform, pi)

with A the advantage, normalized over all decisions of a batch, and R the value's target. On the CPU the gradient of the
terms comes from their compiled translation (``ppo_kernel``).

An item of a batch is one decision or, for a recurrent network, T decisions in a row. Each epoch visits all items once
in random order, in minibatches. An update that moves the policy further than ``step_kl`` is undone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

import torch
from torch import Tensor

from selfplay.learner import dense
from selfplay.learner.dense import Dense
from selfplay.learner.optimizers import State, StepSums
from selfplay.learner.parallel_step import ParallelStep
from selfplay.learner.ppo_kernel import add_reference_gradient, compiled_gradient
from selfplay.policy.heads import divergence, logprob_entropy, masked
from selfplay.rollout.buffers import Workspace
from selfplay.update_metrics import PER_DECISION, UpdateMetrics

if TYPE_CHECKING:
    from selfplay.learner.batch import Batch
    from selfplay.policy.heads import Heads
    from selfplay.policy.network import ActorCritic

Number = TypeVar("Number", float, Tensor)
Terms = dict[str, Tensor]  # sums over decisions by the names in ``PER_DECISION``
REGULARIZERS: Final = ("entropy_coefficient", "teacher_kl", "teacher_kl_reverse", "uniform_kl")
_Before = tuple[dict[str, Tensor], State]


@dataclass(frozen=True, slots=True)
class PPOSettings:
    """Settings of the update, named as in the configuration."""

    epochs: int = 4
    batch_size: int = 2048
    clip: float = 0.2
    learning_rate: float = 3e-4
    value_clip: float = 1.0
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.003
    entropy_floor: float = 0.0  # nats; see ``entropy_weight``; 0 = none
    max_grad_norm: float = 0.5
    target_kl: float = 0.0  # 0 = no early stop
    step_kl: float = 0.0  # an update with a larger mean KL is undone; 0 = never
    teacher_kl: float = 0.0  # weight of KL(teacher, policy)
    teacher_kl_reverse: float = 0.0  # weight of KL(policy, teacher)
    uniform_kl: float = 0.0  # weight of KL(uniform, policy)

    def entropy_weight(self, entropy: float) -> float:
        """Weight of the entropy bonus where the policy has this entropy: none at the floor, all of it 10% below.

        A constant bonus drives a policy with rare rewards towards random play: advantages are normalized, so that its
        pull grows as the rewards become rarer.
        """
        lacking = (self.entropy_floor - entropy) / (0.1 * self.entropy_floor)
        return self.entropy_coefficient * min(max(lacking, 0.0), 1.0)

    def loss(self, terms: Mapping[str, Number]) -> Number:
        """The weighted sum of those terms of the loss that are given."""
        weights = {
            "policy_loss": 1.0,
            "value_loss": self.value_coefficient,
            "entropy": -self.entropy_coefficient,
            "teacher_kl": self.teacher_kl,
            "teacher_kl_reverse": self.teacher_kl_reverse,
            "uniform_kl": self.uniform_kl,
        }
        weighted: list[Number] = [weights[name] * term for name, term in terms.items() if name in weights]
        return sum(weighted[1:], weighted[0])


def surrogate_terms(heads: Heads, out: Tensor, batch: Batch, settings: PPOSettings) -> Terms:
    """Policy loss, value loss and entropy, and what is measured beside them.

    ``out`` [N, L + 1] are the logits and, beside them, the value of all decisions of the batch.
    """
    logprob, entropy = logprob_entropy(heads, out[:, :-1], batch.action)
    value, advantage = out[:, -1], batch.advantage
    log_ratio = logprob - batch.logprob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    near = batch.value + (value - batch.value).clamp(-settings.value_clip, settings.value_clip)
    return {
        "policy_loss": -torch.minimum(ratio * advantage, clipped * advantage).sum(),
        "value_loss": 0.5 * torch.maximum((value - batch.target).square(), (near - batch.target).square()).sum(),
        "entropy": entropy.sum(),
        # k3 estimator: unbiased and never negative (Schulman 2020, http://joschu.net/blog/kl-approx.html)
        "approx_kl": (ratio - 1 - log_ratio).sum(),
        "clip_fraction": ((ratio - 1).abs() > settings.clip).sum(),
    }


def reference_terms(heads: Heads, out: Tensor, batch: Batch, settings: PPOSettings) -> Terms:
    """KL divergences between the policy and its references; arguments as in ``surrogate_terms``."""
    return {
        name: divergence(heads, *pair).sum()
        for (forward, reverse), reference in _references(out, batch, settings).items()
        for name, pair in ((forward, (reference, out[:, :-1])), (reverse, (out[:, :-1], reference)))
        if name
    }


def _references(out: Tensor, batch: Batch, settings: PPOSettings) -> dict[tuple[str, str], Tensor]:
    """Logits [N, L] of what the policy is pulled to, by the names of KL(reference, policy) and KL(policy, reference).

    The second one of uniform play is the entropy, less a constant.
    """
    found: dict[tuple[str, str], Tensor] = {}
    if batch.teacher is not None:
        found["teacher_kl", "teacher_kl_reverse"] = masked(batch.teacher, batch.legal)
    if settings.uniform_kl:
        found["uniform_kl", ""] = masked(torch.zeros_like(out[:, :-1]), batch.legal)
    return found


def loss_gradient(
    heads: Heads, out: Tensor, batch: Batch, settings: PPOSettings, workspace: Workspace, *, critic_only: bool = False
) -> tuple[Tensor, Tensor]:
    """Loss gradient with respect to the outputs [N, L + 1], and the summed terms [len(PER_DECISION)].

    Arguments as in ``surrogate_terms``. The gradient may lie in the workspace. With ``critic_only`` the logits have no
    gradient.
    """
    if batch.legal is not None:  # logits of illegal actions have no gradient
        out = torch.cat([masked(out[:, :-1], batch.legal), out[:, -1:]], 1)
    if heads.compiled_for(out):
        grad, terms = compiled_gradient(heads, out, batch, settings, workspace)
        for names, reference in _references(out, batch, settings).items():
            terms |= add_reference_gradient(heads, out, reference, names, settings, grad)
    else:
        grad, terms = _differentiated(surrogate_terms, heads, out, batch, settings)
        if batch.teacher is not None or settings.uniform_kl:
            more, divergences = _differentiated(reference_terms, heads, out, batch, settings)
            grad, terms = grad.add_(more), terms | divergences
    if critic_only:
        grad[:, :-1] = 0.0
    zero = out.new_zeros(())
    return grad, torch.stack([terms.get(name, zero) for name in PER_DECISION])


def _differentiated(
    terms_of: Callable[[Heads, Tensor, Batch, PPOSettings], Terms],
    heads: Heads,
    out: Tensor,
    batch: Batch,
    settings: PPOSettings,
) -> tuple[Tensor, Terms]:
    """Gradient of the weighted sum of some terms by autograd, and these terms."""
    out = out.detach().requires_grad_()
    terms = terms_of(heads, out, batch, settings)
    (grad,) = torch.autograd.grad(settings.loss(terms), out)
    return grad, {name: term.detach() for name, term in terms.items()}


def outputs(network: ActorCritic, batch: Batch) -> Tensor:
    """Logits and, beside them, the values, [N, L + 1], of the decisions of ``batch.flat()``."""
    if batch.memory is None or batch.fresh is None or batch.mine is None:
        logits, value = network(batch.obs)
        return torch.cat([logits, value[:, None]], 1)
    logits, value, _ = network.unroll(batch.obs, batch.memory, batch.fresh)
    return torch.cat([logits, value[..., None]], -1)[batch.mine]


class PPO:
    """Owns the optimizer of one network. ``update`` blocks: call it from a thread, never from the event loop."""

    def __init__(self, network: ActorCritic, settings: PPOSettings, *, threads: int = 1) -> None:
        self.network = network
        self.settings = settings
        self._full = settings
        self._step = ParallelStep(network, settings.learning_rate, settings.max_grad_norm, threads)
        self.device = self._step.device
        self.optimizer = self._step.optimizer
        self._dense = Dense(network) if dense.can_handle(network) else None
        self._local = threading.local()  # the workspace of each thread

    def begin(self, weights: Mapping[str, Tensor]) -> None:
        """Load weights and reset the optimizer state."""
        self.network.load_state_dict(dict(weights))
        self.forget_gradients()

    def forget_gradients(self) -> None:
        """Reset the optimizer state: with the step count of a policy at rest, its first steps would be too large."""
        self.optimizer.state.clear()

    def scale(self, factor: float, *, rate_only: bool = False) -> None:
        """Set the learning rate, and without ``rate_only`` entropy bonus and KL weights, to this share of theirs."""
        names = ["learning_rate", *(() if rate_only else REGULARIZERS)]
        self.settings = replace(self._full, **{name: getattr(self._full, name) * factor for name in names})
        self.optimizer.learning_rate = self.settings.learning_rate

    def close(self) -> None:
        self._step.close()

    def update(
        self,
        batch: Batch,
        generator: torch.Generator,
        stop: Callable[[], bool] = lambda: False,
        *,
        critic_only: bool = False,
    ) -> UpdateMetrics:
        """Learn from one batch; the generator draws the order of the items.

        ``stop`` is called before each minibatch; True ends the update early. With ``critic_only`` the value alone is
        trained, by the network's last layer: the policy does not change.
        """
        given, explained = self.settings, batch.flat().explained_variance()
        decisions = batch.decisions
        batch = batch.normalized()
        before = self._copy() if given.step_kl and not critic_only else None
        size = max(1, min(given.batch_size * len(batch) // max(decisions, 1), len(batch)))
        weight = given.entropy_weight(self._entropy(batch, size)) if given.entropy_floor else given.entropy_coefficient
        self.settings = settings = replace(given, entropy_coefficient=weight)
        tally = StepSums(torch.zeros(len(PER_DECISION), dtype=torch.float64, device=self.device))
        epochs = 0
        while epochs < settings.epochs:
            kl = self._epoch(batch, size, generator, stop, tally, critic_only=critic_only)
            epochs += 1
            if stop() or (settings.target_kl and kl > settings.target_kl):
                break
        step_kl, reverted = self._guard(batch, before, size) if before is not None else (0.0, 0)
        self.settings = given
        return _metrics(
            tally, settings, explained_variance=explained, epochs=epochs, step_kl=step_kl, reverted=reverted,
            critic_only=critic_only,
        )  # fmt: skip

    def _epoch(
        self,
        batch: Batch,
        size: int,
        generator: torch.Generator,
        stop: Callable[[], bool],
        tally: StepSums,
        *,
        critic_only: bool,
    ) -> float:
        """Visit every item once, ``size`` at a time; returns the mean KL from the behaviour policy."""
        order = torch.randperm(len(batch), generator=generator).to(self.device)
        epoch = StepSums(torch.zeros_like(tally.sums))
        for start in range(0, len(batch), size):
            if stop():
                break
            index = order[start : start + size]
            count = batch.decisions_of(index)
            sums, norm = self._minibatch(batch, index, count, critic_only=critic_only)
            for each in (tally, epoch):
                each.add(sums, norm, count)
        return float(epoch.sums[PER_DECISION.index("approx_kl")]) / max(epoch.count, 1)

    def _minibatch(self, batch: Batch, index: Tensor, decisions: int, *, critic_only: bool) -> tuple[Tensor, Tensor]:
        """One optimizer step on the items ``index``; the sums of the terms, and the norm of the gradient."""
        out_mask = None
        if critic_only:
            out_mask = torch.zeros(len(self.network.out.bias), device=self.device)
            out_mask[-1] = 1.0

        def gradients_of(chunk: slice, trainable: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
            share = 1.0 / max(decisions, 1)
            return self.gradients(batch, index[chunk], trainable, share=share, critic_only=critic_only)

        return self._step.step(self._step.chunks(len(index), batch.width), gradients_of, out_mask)

    def gradients(
        self, batch: Batch, index: Tensor, trainable: Sequence[Tensor], *, share: float, critic_only: bool = False
    ) -> tuple[list[Tensor], Tensor]:
        """Gradients of ``share`` times the summed loss of the items ``index``; the summed terms [len(PER_DECISION)].

        ``trainable`` are all parameters, or those of the last layers. Safe for threads.
        """
        if not hasattr(self._local, "workspace"):
            self._local.workspace = Workspace()
        workspace, heads = self._local.workspace, self.network.heads
        chunk = batch.taken(index, workspace)
        if self._dense is None:
            out = outputs(self.network, chunk)
            played, settings = chunk.flat(), self.settings
            along, sums = loss_gradient(heads, out.detach(), played, settings, workspace, critic_only=critic_only)
            return list(torch.autograd.grad(out, trainable, along.mul_(share))), sums
        kept = self._dense.forward(chunk.obs, workspace)
        along, sums = loss_gradient(heads, kept[-1], chunk, self.settings, workspace, critic_only=critic_only)
        return self._dense.backward(kept, along.mul_(share), len(trainable) // 2, workspace), sums

    def _copy(self) -> _Before:
        weights = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
        return weights, self.optimizer.copy()

    @torch.no_grad()
    def _sample(self, batch: Batch, size: int) -> tuple[Tensor, Tensor, Batch]:
        """Log-probability [N] and entropy [N] of about ``size`` items, spread over the batch, and their decisions."""
        part = batch.items(slice(None, None, max(1, len(batch) // size)))
        logits, played = outputs(self.network, part)[:, :-1], part.flat()
        logprob, entropy = logprob_entropy(self.network.heads, masked(logits, played.legal), played.action)
        return logprob, entropy, played

    def _entropy(self, batch: Batch, size: int) -> float:
        return float(self._sample(batch, size)[1].mean())

    def _guard(self, batch: Batch, before: _Before, size: int) -> tuple[float, int]:
        """The KL of the update on a minibatch, and whether the update was undone because that is too large."""
        logprob, _, played = self._sample(batch, size)
        log_ratio = logprob - played.logprob
        kl = float((log_ratio.exp() - 1 - log_ratio).mean())
        if kl <= self.settings.step_kl:  # false for NaN
            return kl, 0
        weights, state = before
        self.network.load_state_dict(weights)
        self.optimizer.state = state
        return kl, 1


def _metrics(tally: StepSums, settings: PPOSettings, **others: float) -> UpdateMetrics:
    """Means over what was counted, together with the other metrics."""
    means = dict(zip(PER_DECISION, (tally.sums / max(tally.count, 1)).tolist(), strict=True))
    return UpdateMetrics.model_validate(
        {
            **means,
            **others,
            "loss": settings.loss(means),
            "grad_norm": float(torch.stack(tally.norms).mean()) if tally.norms else 0.0,
            "learning_rate": settings.learning_rate,
            "minibatches": len(tally.norms) + tally.skipped,
            "skipped": tally.skipped,
        }
    )
