"""Health rules for dialogue self-play, see ``health``.

Rules read rows of ``metrics.jsonl`` (``DialogueReport.flat``), so they also work on runs of other processes. A missing
metric counts as healthy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from envs.dialogue.contract import CONTEXT, CUT_OFF, FAILED, LONG, REFUSED
from selfplay.report.health import HealthMonitor

MetricsRow = Mapping[str, Any]

SURE: Final = 0.02  # entropy in nats per token below which exploration has collapsed
ALIKE: Final = 0.9  # share of groups with equal rewards above which there is little to learn from
FALLEN: Final = 0.1  # drop of the agreement from the first to the second half of the window
BROKEN: Final = 0.05  # share of games that end by an invalid reply


class DialogueHealth(HealthMonitor[MetricsRow]):
    """Watches a run of a dialogue game."""

    def __init__(self) -> None:
        super().__init__(RULES, lambda row: int(row["iteration"]), EARLY)


def _figures(rows: Sequence[MetricsRow], name: str) -> list[float]:
    return [float(value) for row in rows if isinstance(value := row.get(name), int | float)]


def _mean(rows: Sequence[MetricsRow], name: str, otherwise: float) -> float:
    found = _figures(rows, name)
    return fmean(found) if found else otherwise


def _share(rows: Sequence[MetricsRow], reason: str) -> float:
    """Share of the games that ended for a reason, which a row names only if a game did."""
    return sum(_figures(rows, f"endings/{reason}")) / len(rows)


def _growth(rows: Sequence[MetricsRow], name: str) -> float:
    found = _figures(rows, name)
    return found[-1] - found[0] if found else 0.0


def _nothing_learned(rows: Sequence[MetricsRow]) -> str | None:
    steps = _figures(rows, "losses/steps")
    if not steps or sum(steps) > sum(_figures(rows, "losses/skipped")):
        return None
    return (
        "Nothing is learned: no update changes the model. Groups of equal rewards do not train "
        f"({_mean(rows, 'losses/zero_variance', 0.0):.0%} of the groups), nor do groups of one game. Raise "
        "--games-per-state or --temperature, use other states, or teach the model the format first."
    )


def _no_game_ends(rows: Sequence[MetricsRow]) -> str | None:
    shares = {reason: _share(rows, reason) for reason in (LONG, REFUSED, CUT_OFF, CONTEXT, FAILED)}
    if sum(shares.values()) < 1 - 1e-6:
        return None
    found = ", ".join(f"{reason} {share:.0%}" for reason, share in shares.items() if share)
    return (
        f"No game reaches a result ({found}). Raise --max-new-tokens, --max-turns or --retries, set --error-penalty, "
        "or teach the model the format first."
    )


def _entropy(rows: Sequence[MetricsRow]) -> str | None:
    entropy = _mean(rows, "losses/entropy", 1.0)
    if entropy >= SURE:
        return None
    return (
        f"Entropy collapse: the replies hardly vary any more (entropy {entropy:.3f} nats a token). Raise --entropy, "
        "lower --learning-rate, or go back to an older generation."
    )


def _zero_variance(rows: Sequence[MetricsRow]) -> str | None:
    share = _mean(rows, "losses/zero_variance", 0.0)
    if share <= ALIKE:
        return None
    return (
        f"Nothing to compare: in {share:.0%} of the groups all rewards are equal, and such groups do not train. Raise "
        "--games-per-state or --temperature, or use other states."
    )


def _agreement(rows: Sequence[MetricsRow]) -> str | None:
    found = _figures(rows, "play/agreement")
    if len(found) < 2:
        return None
    before, now = fmean(found[: len(found) // 2]), fmean(found[len(found) // 2 :])
    if before - now <= FALLEN:
        return None
    return (
        f"Agreement falls: {before:.0%} of the games ended with one, now {now:.0%}. Look at the worst games on the "
        "page of the run; lower --learning-rate, or keep the model near its start with --kl."
    )


def _errors(rows: Sequence[MetricsRow]) -> str | None:
    share = sum(_share(rows, reason) for reason in (REFUSED, CUT_OFF, CONTEXT))
    if share <= BROKEN:
        return None
    return (
        f"Broken replies: {share:.0%} of the games ended by an invalid reply or by one that was cut off. Raise "
        "--max-new-tokens or --retries, set --error-penalty, or teach the model the format first."
    )


def _stale(rows: Sequence[MetricsRow]) -> str | None:
    clipped, moved = _mean(rows, "losses/clip_fraction", 0.0), _mean(rows, "losses/approx_kl", 0.0)
    if clipped <= 0.35 and moved <= 0.1:
        return None
    return (
        f"Stale data: updates are too large for the collected data ({clipped:.0%} of the ratios clipped, KL "
        f"{moved:.3f}). Lower --learning-rate or --epochs."
    )


def _not_finite(rows: Sequence[MetricsRow]) -> str | None:
    skipped = sum(_figures(rows, "losses/skipped"))
    if not skipped:
        return None
    return f"{skipped:.0f} steps had a gradient that is not finite and were skipped. Lower --learning-rate."


def _lost(rows: Sequence[MetricsRow]) -> str | None:
    lost = _growth(rows, "play/lost")
    if lost < 5:
        return None
    return f"{lost:.0f} games were lost in the last {len(rows)} iterations; log.txt has the causes."


def _restarts(rows: Sequence[MetricsRow]) -> str | None:
    restarts = _growth(rows, "charts/restarts")
    if restarts < 5:
        return None
    return (
        f"Runners crashed {restarts:.0f} times in the last {len(rows)} iterations; each crash cost its games. log.txt "
        "has the causes."
    )


RULES: Final[dict[str, Callable[[Sequence[MetricsRow]], str | None]]] = {
    "nothing_learned": _nothing_learned,
    "no_game_ends": _no_game_ends,
    "entropy_collapse": _entropy,
    "nothing_to_compare": _zero_variance,
    "agreement_falls": _agreement,
    "broken_replies": _errors,
    "stale_data": _stale,
    "not_finite": _not_finite,
    "lost_games": _lost,
    "restarts": _restarts,
}
"""All rules, by the name of the problem."""
EARLY: Final = ("nothing_learned", "no_game_ends")
