"""What is wrong with a run, in words: a sentence each, with a remedy.

Curves show everything and say nothing. These rules look at the last iterations together, since one iteration alone has
few episodes; what the ratings show (draws, misfit, sides, islands) is said by the leaderboard itself.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from selfplay.report.metrics import IterationReport

WINDOW: Final = 50
"""Iterations that are looked at together."""
ENOUGH: Final = 20
"""Iterations before anything is said."""
EPISODES: Final = 50
"""Episodes before their ends are judged."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    name: str
    text: str


Report = TypeVar("Report")


class Watch(Generic[Report]):
    """Watches the reports of a run.

    Args:
        rules: What is asked about the last reports, by the name of what it finds; the finding in words, or None.
        number: Which iteration a report is about.
    """

    def __init__(
        self, rules: Mapping[str, Callable[[Sequence[Report]], str | None]], number: Callable[[Report], int]
    ) -> None:
        self._rules = rules
        self._number = number
        self._window: deque[Report] = deque(maxlen=WINDOW)
        self._known: set[str] = set()

    def observe(self, report: Report) -> tuple[Finding, ...]:
        """Take in one iteration; what is wrong now and was not before it."""
        if self._window and self._number(report) <= self._number(self._window[-1]):  # played again after a crash
            self._window.clear()
        self._window.append(report)
        found = self.findings()
        new = tuple(finding for finding in found if finding.name not in self._known)
        self._known = {finding.name for finding in found}
        return new

    def findings(self) -> tuple[Finding, ...]:
        """Everything that is wrong now."""
        if len(self._window) < ENOUGH:
            return ()
        reports = tuple(self._window)
        texts = ((name, rule(reports)) for name, rule in self._rules.items())
        return tuple(Finding(name, text) for name, text in texts if text is not None)


class Health(Watch["IterationReport"]):
    """Watches a run of fights, or of another game that is learned by PPO.

    Args:
        fights: Whether a fighter is learned. In other games it may be best not to explore, most games may be draws,
            and there may be nothing for a value function to predict.
    """

    def __init__(self, *, fights: bool = True) -> None:
        rules = {name: rule for name, rule in RULES.items() if fights or name not in OF_FIGHTS}
        super().__init__(rules, lambda report: report.iteration)


def _entropy(reports: Sequence[IterationReport]) -> str | None:
    entropy = fmean(report.update.entropy for report in reports)
    taught = any(report.update.teacher_kl > 0 for report in reports)  # then it began as sure as the players it imitated
    if entropy >= (0.1 if taught else 0.5):
        return None
    return (
        f"Entropy collapse: the policy hardly explores any more (entropy {entropy:.2f} nats over all parts of an "
        "action). It will not find better play by itself; raise --entropy, or go back to an older generation."
    )


def _caps(reports: Sequence[IterationReport]) -> str | None:
    episodes = sum(report.play.episodes for report in reports)
    draws = sum(report.play.draws for report in reports)
    if episodes < EPISODES or draws <= 0.5 * episodes:
        return None
    return (
        f"Few results: {draws / episodes:.0%} of the last {episodes} episodes ended without a winner. They teach "
        "little and rate nobody; raise --max-episode-frames, or give the policy time to learn to finish games."
    )


def _stale(reports: Sequence[IterationReport]) -> str | None:
    clipped = fmean(report.update.clip_fraction for report in reports)
    moved = fmean(report.update.approx_kl for report in reports)
    if clipped <= 0.35 and moved <= 0.1:
        return None
    return (
        f"Stale data: an update moves the policy further than what it learns from can say ({clipped:.0%} of the ratios "
        f"clipped, KL {moved:.3f}). Lower --learning-rate, --ppo-epochs or --target-kl."
    )


def _value(reports: Sequence[IterationReport]) -> str | None:
    reports = [report for report in reports if not report.update.critic_only]  # it has yet to begin there
    if len(reports) < ENOUGH:
        return None
    explained = fmean(report.update.explained_variance for report in reports)
    if explained >= 0.0:
        return None
    return (
        f"The value function predicts worse than a constant would (explained variance {explained:.2f}): advantages are "
        "noise. Lower --learning-rate, or give it a larger --hidden."
    )


def _reverted(reports: Sequence[IterationReport]) -> str | None:
    reverted = sum(report.update.reverted for report in reports)
    if reverted < 3:
        return None
    return (
        f"{reverted} of the last {len(reports)} updates moved the policy too far and were taken back: nothing was "
        "learned in them. Lower --learning-rate or --ppo-epochs."
    )


def _not_finite(reports: Sequence[IterationReport]) -> str | None:
    skipped = sum(report.update.skipped for report in reports)
    if not skipped:
        return None
    return f"{skipped} minibatches had gradients that are not finite and were skipped. Lower --learning-rate."


def _zero_sum(reports: Sequence[IterationReport]) -> str | None:
    error = max(report.zero_sum_error or 0.0 for report in reports)
    if error <= 1e-3:
        return None
    return (
        f"Rewards are not zero-sum: those of the two seats add up to {error:.3g} in one step. Two copies of a policy "
        "can then gain together, by not fighting; make what one seat gains the other's loss."
    )


def _restarts(reports: Sequence[IterationReport]) -> str | None:
    restarts = reports[-1].restarts - reports[0].restarts
    if restarts < 5:
        return None
    return (
        f"Runners crashed {restarts} times in the last {len(reports)} iterations; each crash cost a segment of games. "
        "log.txt has the causes."
    )


RULES: Final[dict[str, Callable[[Sequence[IterationReport]], str | None]]] = {
    "entropy_collapse": _entropy,
    "few_results": _caps,
    "stale_data": _stale,
    "value_function": _value,
    "reverted": _reverted,
    "not_finite": _not_finite,
    "not_zero_sum": _zero_sum,
    "restarts": _restarts,
}
"""Every rule by the name of what it finds."""
OF_FIGHTS: Final = ("entropy_collapse", "few_results", "value_function")
