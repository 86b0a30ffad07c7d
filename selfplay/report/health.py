"""Health rules: find problems in the metrics of a run and suggest a remedy.

Rules look at the last iterations together, since one iteration has few episodes. Problems of the ratings (draws,
misfit, seats, islands) are warnings of the leaderboard.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from selfplay.report.metrics import MIRROR, Pace

if TYPE_CHECKING:
    from selfplay.report.metrics import IterationReport

WINDOW: Final = 50  # number of last iterations that the rules look at
MIN_ITERATIONS: Final = 20  # minimum number of iterations
SOON: Final = 3  # the same for early rules
EPISODES: Final = 50  # minimum number of episodes to judge results
MIRROR_GAMES: Final = 20  # minimum number of mirror games to judge how they end
BEGINNING: Final = 150  # iterations whose mirror games are not judged: the first ones show how the first policy plays
PEOPLE: Final = 1.2  # stocks a minute that people lose, docs/bots.md


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """A problem of a run."""

    name: str
    text: str


Report = TypeVar("Report")


class HealthMonitor(Generic[Report]):
    """Watches the reports of a run.

    Args:
        rules: functions of the last reports, by problem; they return a text or None.
        number: returns the iteration of a report.
        early: rules that need no more than ``SOON`` iterations: what they find makes a run useless.
    """

    def __init__(
        self,
        rules: Mapping[str, Callable[[Sequence[Report]], str | None]],
        number: Callable[[Report], int],
        early: Collection[str] = (),
    ) -> None:
        self._rules = rules
        self._least = {name: SOON if name in early else MIN_ITERATIONS for name in rules}
        self._early = early
        self._number = number
        self._window: deque[Report] = deque(maxlen=WINDOW)
        self._known: set[str] = set()

    def observe(self, report: Report) -> tuple[HealthFinding, ...]:
        if self._window and self._number(report) <= self._number(self._window[-1]):  # played again after a crash
            self._window.clear()
        self._window.append(report)
        found = self.findings()
        new = tuple(finding for finding in found if finding.name not in self._known)
        self._known = {finding.name for finding in found}
        return new

    def end(self) -> tuple[HealthFinding, ...]:
        """Findings of the early rules at the end of a run, even if it had too few iterations for them."""
        self._least.update(dict.fromkeys(self._early, 1))
        return tuple(finding for finding in self.findings() if finding.name in self._early)

    def findings(self) -> tuple[HealthFinding, ...]:
        reports = tuple(self._window)
        texts = ((name, rule(reports)) for name, rule in self._rules.items() if len(reports) >= self._least[name])
        return tuple(HealthFinding(name, text) for name, text in texts if text is not None)


class Health(HealthMonitor["IterationReport"]):
    """Watches a PPO run.

    Args:
        fights: whether the game is a fight. In other games low entropy, many draws and an unpredictable value can be
            normal.
    """

    def __init__(self, *, fights: bool = True) -> None:
        rules = {name: rule for name, rule in RULES.items() if fights or name not in FIGHT_RULES}
        super().__init__(rules, lambda report: report.iteration)


def _entropy(reports: Sequence[IterationReport]) -> str | None:
    entropy = fmean(report.update.entropy for report in reports)
    taught = any(report.update.teacher_kl > 0 for report in reports)  # a pretrained policy starts with low entropy
    if entropy >= (0.1 if taught else 0.5):
        return None
    return (
        f"Entropy collapse: the policy hardly explores any more (entropy {entropy:.2f} nats per action). Raise "
        "--entropy, or go back to an older generation."
    )


def _caps(reports: Sequence[IterationReport]) -> str | None:
    episodes = sum(report.play.episodes for report in reports)
    draws = sum(report.play.draws for report in reports)
    if episodes < EPISODES or draws <= 0.5 * episodes:
        return None
    return (
        f"Few results: {draws / episodes:.0%} of the last {episodes} episodes ended without a winner. Raise "
        "--max-episode-frames, or train longer until the policy learns to finish games."
    )


def _stalling(reports: Sequence[IterationReport]) -> str | None:
    judged = [report for report in reports if report.iteration > BEGINNING]
    paces = [report.play.pace[MIRROR] for report in judged if MIRROR in report.play.pace]
    if sum(pace.games for pace in paces) < MIRROR_GAMES:
        return None
    pace = Pace.joined(paces)
    # Under a short cap few games can be finished, and the second figure decides.
    if pace.finished >= 0.5 or pace.stocks_per_minute >= 0.5:
        return None
    return (
        f"Stalling: {pace.finished:.0%} of the last {pace.games} mirror games ended because a player was out of "
        f"stocks, {pace.stocks_per_minute:.2f} stocks a minute a player (people: {PEOPLE}). Start from imitation "
        "(--preset laptop), or give stalling a cost (--set reward.stalling=X)."
    )


def _stale(reports: Sequence[IterationReport]) -> str | None:
    clipped = fmean(report.update.clip_fraction for report in reports)
    moved = fmean(report.update.approx_kl for report in reports)
    if clipped <= 0.35 and moved <= 0.1:
        return None
    return (
        f"Stale data: updates are too large for the collected data ({clipped:.0%} of the ratios clipped, KL "
        f"{moved:.3f}). Lower --learning-rate, --ppo-epochs or ppo.target_kl."
    )


def _value(reports: Sequence[IterationReport]) -> str | None:
    reports = [report for report in reports if not report.update.critic_only]  # the critic is still warming up
    if len(reports) < MIN_ITERATIONS:
        return None
    explained = fmean(report.update.explained_variance for report in reports)
    if explained >= 0.0:
        return None
    return (
        f"The value function predicts worse than a constant (explained variance {explained:.2f}), so advantages are "
        "noise. Lower --learning-rate, or raise --hidden."
    )


def _reverted(reports: Sequence[IterationReport]) -> str | None:
    reverted = sum(report.update.reverted for report in reports)
    if reverted < 3:
        return None
    return (
        f"{reverted} of the last {len(reports)} updates moved the policy too far and were reverted. Lower "
        "--learning-rate or --ppo-epochs."
    )


def _not_finite(reports: Sequence[IterationReport]) -> str | None:
    skipped = sum(report.update.skipped for report in reports)
    if not skipped:
        return None
    return f"{skipped} minibatches had gradients that are not finite and were skipped. Lower --learning-rate."


def _common_gain(reports: Sequence[IterationReport]) -> str | None:
    gain = max(report.common_gain or 0.0 for report in reports)
    if gain <= 1e-3:
        return None
    return (
        f"The rewards of the two seats add up to {gain:+.3g} in one step, so that two copies of a policy can gain by "
        "cooperating. Use a reward whose sum is never above 0."
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
    "stalling": _stalling,
    "stale_data": _stale,
    "value_function": _value,
    "reverted": _reverted,
    "not_finite": _not_finite,
    "common_gain": _common_gain,
    "restarts": _restarts,
}
"""All rules, by the name of the problem."""
FIGHT_RULES: Final = ("entropy_collapse", "few_results", "stalling", "value_function")
