"""Health rules: find problems in the metrics of a run and suggest a remedy.

Rules read rows of ``metrics.jsonl`` (``IterationReport.flat``), so they also work on runs of other processes; a missing
metric counts as healthy. They look at the last iterations together, since one iteration has few episodes. Problems of
the ratings (draws, misfit, seats, islands) are warnings of the leaderboard.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from types import MappingProxyType
from typing import Any, Final

MetricsRow = Mapping[str, Any]
Rule = Callable[[Sequence[MetricsRow]], str | None]

WINDOW: Final = 50  # number of last iterations that the rules look at
MIN_ITERATIONS: Final = 20  # minimum number of iterations
SOON: Final = 3  # the same for early rules
LARGEST: Final = 1e6  # value loss, of returns of about a thousand: clipped gradients of the critic still follow it


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """A problem of a run."""

    name: str
    text: str


class HealthMonitor:
    """Watches the metrics of a run by rules: functions of the last rows that return a text or None.

    The rules in ``early`` need no more than ``SOON`` iterations: what they find makes a run useless.
    """

    def __init__(self, rules: Mapping[str, Rule], early: Collection[str] = ()) -> None:
        self._rules = rules
        self._least = {name: SOON if name in early else MIN_ITERATIONS for name in rules}
        self._early = early
        self._window: deque[MetricsRow] = deque(maxlen=WINDOW)
        self._known: set[str] = set()

    def add(self, row: MetricsRow) -> None:
        if self._window and row["iteration"] <= self._window[-1]["iteration"]:  # played again after a crash
            self._window.clear()
        self._window.append(row)

    def observe(self, row: MetricsRow) -> tuple[HealthFinding, ...]:
        """Add a row; returns what is new."""
        self.add(row)
        found = self.findings()
        new = tuple(finding for finding in found if finding.name not in self._known)
        self._known = {finding.name for finding in found}
        return new

    def end(self) -> tuple[HealthFinding, ...]:
        """New findings of the early rules at the end of a run, even if it had too few iterations for them."""
        self._least.update(dict.fromkeys(self._early, 1))
        return tuple(f for f in self.findings() if f.name in self._early and f.name not in self._known)

    def findings(self) -> tuple[HealthFinding, ...]:
        rows = tuple(self._window)
        texts = ((name, rule(rows)) for name, rule in self._rules.items() if len(rows) >= self._least[name])
        return tuple(HealthFinding(name, text) for name, text in texts if text is not None)


class Health(HealthMonitor):
    """Watches a PPO run. ``of_game`` are rules that the game adds, see ``GameKind.health``.

    ``entropy_collapse`` and ``value_function`` are made for them: in some games low entropy and an unpredictable value
    are normal.
    """

    def __init__(self, of_game: Mapping[str, Rule] = MappingProxyType({})) -> None:
        super().__init__({**of_game, **RULES}, early=("reward_scale",))


def figures(rows: Sequence[MetricsRow], name: str) -> list[float]:
    return [value for row in rows if isinstance(value := row.get(name), int | float)]


def mean(rows: Sequence[MetricsRow], name: str, otherwise: float) -> float:
    found = figures(rows, name)
    return fmean(found) if found else otherwise


def growth(rows: Sequence[MetricsRow], name: str) -> float:
    found = figures(rows, name)
    return found[-1] - found[0] if found else 0.0


def stale(rows: Sequence[MetricsRow], remedy: str) -> str | None:
    clipped, moved = mean(rows, "losses/clip_fraction", 0.0), mean(rows, "losses/approx_kl", 0.0)
    if clipped <= 0.35 and moved <= 0.1:
        return None
    return (
        f"Stale data: updates are too large for the collected data ({clipped:.0%} of the ratios clipped, KL "
        f"{moved:.3f}). {remedy}"
    )


def restarted(rows: Sequence[MetricsRow], name: str, lost: str) -> str | None:
    restarts = growth(rows, name)
    if restarts < 5:
        return None
    return (
        f"Runners crashed {restarts:.0f} times in the last {len(rows)} iterations; each crash cost {lost}. log.txt has "
        "the causes."
    )


def entropy_collapse(rows: Sequence[MetricsRow]) -> str | None:
    entropy = mean(rows, "losses/entropy", 1.0)
    taught = any(kl > 0 for kl in figures(rows, "losses/teacher_kl"))  # a pretrained policy starts with low entropy
    if entropy >= (0.1 if taught else 0.5):
        return None
    return (
        f"Entropy collapse: the policy hardly explores any more (entropy {entropy:.2f} nats per action). Raise "
        "--entropy, or go back to an older generation."
    )


def value_function(rows: Sequence[MetricsRow]) -> str | None:
    rows = [row for row in rows if not row.get("critic_only")]  # the critic is still warming up
    if len(rows) < MIN_ITERATIONS:
        return None
    explained = mean(rows, "losses/explained_variance", 0.0)
    if explained >= 0.0:
        return None
    return (
        f"The value function predicts worse than a constant (explained variance {explained:.2f}), so advantages are "
        "noise. Lower --learning-rate, or raise --hidden."
    )


def _reverted(rows: Sequence[MetricsRow]) -> str | None:
    reverted = sum(figures(rows, "losses/reverted"))
    if reverted < 3:
        return None
    return (
        f"{reverted} of the last {len(rows)} updates moved the policy too far and were reverted. Lower "
        "--learning-rate or --ppo-epochs."
    )


def _not_finite(rows: Sequence[MetricsRow]) -> str | None:
    skipped = sum(figures(rows, "losses/skipped"))
    if not skipped:
        return None
    return f"{skipped} minibatches had gradients that are not finite and were skipped. Lower --learning-rate."


def _reward_scale(rows: Sequence[MetricsRow]) -> str | None:
    # JSON has no infinity: metrics.jsonl has null in its place.
    losses = [math.inf if row["losses/value"] is None else row["losses/value"] for row in rows if "losses/value" in row]
    loss = fmean(losses) if losses else 0.0
    returned = max(map(abs, figures(rows, "play/return_mean")), default=0.0)
    skipped = sum(figures(rows, "losses/skipped"))
    if loss <= LARGEST and not (skipped and returned > LARGEST):
        return None
    seen = f"{skipped:.0f} minibatches were skipped" if loss <= LARGEST else f"value loss {loss:.3g}"
    return (
        f"The rewards are too large to learn from ({seen}, mean return up to {returned:.3g}). Divide them by a "
        "constant, so that the sums of episodes lie between about -10 and 10."
    )


def _common_gain(rows: Sequence[MetricsRow]) -> str | None:
    gain = max(figures(rows, "reward/common_gain"), default=0.0)
    if gain <= 1e-3:
        return None
    return (
        f"The rewards of the two seats add up to {gain:+.3g} in one step, so that two copies of a policy can gain by "
        "cooperating. Use a reward whose sum is never above 0."
    )


RULES: Final[dict[str, Rule]] = {
    "stale_data": partial(stale, remedy="Lower --learning-rate, --ppo-epochs or ppo.target_kl."),
    "reverted": _reverted,
    "not_finite": _not_finite,
    "reward_scale": _reward_scale,
    "common_gain": _common_gain,
    "restarts": partial(restarted, name="runners/restarts", lost="a segment of games"),
}
"""Rules of every game, by the name of the problem."""
