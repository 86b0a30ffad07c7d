"""What is wrong with a run of self-play in words, a sentence each, with a remedy; see ``health``.

Rules look at rows of figures, as ``DialogueReport.flat`` names them and ``metrics.jsonl`` keeps them, so that a run
that goes on elsewhere can be judged, too. A figure that is absent counts as nothing wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from selfplay.report.health import Watch

Row = Mapping[str, Any]

SURE: Final = 0.02
"""Nats a token below which nothing new is tried."""
ALIKE: Final = 0.9
"""Share of groups of one reward above which hardly anything trains."""
FALLEN: Final = 0.1
"""Of the agreement, from the first half of the window to the second."""
BROKEN: Final = 0.05
"""Share of games that a broken reply ended."""


class DialogueHealth(Watch[Row]):
    """Watches a run of words."""

    def __init__(self) -> None:
        super().__init__(RULES, lambda row: int(row["iteration"]))


def _figures(rows: Sequence[Row], name: str) -> list[float]:
    return [float(value) for row in rows if isinstance(value := row.get(name), int | float)]


def _mean(rows: Sequence[Row], name: str, otherwise: float) -> float:
    found = _figures(rows, name)
    return fmean(found) if found else otherwise


def _growth(rows: Sequence[Row], name: str) -> float:
    """Of a count that never falls."""
    found = _figures(rows, name)
    return found[-1] - found[0] if found else 0.0


def _entropy(rows: Sequence[Row]) -> str | None:
    entropy = _mean(rows, "losses/entropy", 1.0)
    if entropy >= SURE:
        return None
    return (
        f"Entropy collapse: the model hardly varies its replies any more (entropy {entropy:.3f} nats a token). It will "
        "not find better play by itself; raise --entropy, lower --learning-rate, or go back to an older generation."
    )


def _zero_variance(rows: Sequence[Row]) -> str | None:
    share = _mean(rows, "losses/zero_variance", 0.0)
    if share <= ALIKE:
        return None
    return (
        f"Nothing to compare: in {share:.0%} of the groups all games were paid the same, and such groups do not train. "
        "Raise --games-per-state or --temperature; or there is nothing left to learn on these states."
    )


def _agreement(rows: Sequence[Row]) -> str | None:
    found = _figures(rows, "play/agreement")
    if len(found) < 2:
        return None
    before, now = fmean(found[: len(found) // 2]), fmean(found[len(found) // 2 :])
    if before - now <= FALLEN:
        return None
    return (
        f"Agreement falls: {before:.0%} of the games ended with one, now {now:.0%}. Look at the worst games on the "
        "page of the run; lower --learning-rate, or hold the model near its start with --kl."
    )


def _errors(rows: Sequence[Row]) -> str | None:
    share = sum(_mean(rows, f"endings/{reason}", 0.0) for reason in ("refused", "cut_off", "context"))
    if share <= BROKEN:
        return None
    return (
        f"Broken replies: {share:.0%} of the games ended by a reply that the game refused, or that was cut off at its "
        "limit. Raise --max-new-tokens or --retries, set --error-penalty, or teach the model the form first."
    )


def _stale(rows: Sequence[Row]) -> str | None:
    clipped, moved = _mean(rows, "losses/clip_fraction", 0.0), _mean(rows, "losses/approx_kl", 0.0)
    if clipped <= 0.35 and moved <= 0.1:
        return None
    return (
        f"Stale data: an update moves the model further than what it learns from can say ({clipped:.0%} of the ratios "
        f"clipped, KL {moved:.3f}). Lower --learning-rate or --epochs."
    )


def _not_finite(rows: Sequence[Row]) -> str | None:
    skipped = sum(_figures(rows, "losses/skipped"))
    if not skipped:
        return None
    return f"{skipped:.0f} steps had a gradient that is not finite and were skipped. Lower --learning-rate."


def _lost(rows: Sequence[Row]) -> str | None:
    lost = _growth(rows, "play/lost")
    if lost < 5:
        return None
    return f"{lost:.0f} games were lost in the last {len(rows)} iterations; log.txt has the first cause of each time."


def _restarts(rows: Sequence[Row]) -> str | None:
    restarts = _growth(rows, "charts/restarts")
    if restarts < 5:
        return None
    return (
        f"Runners crashed {restarts:.0f} times in the last {len(rows)} iterations; each crash cost its games. log.txt "
        "has the causes."
    )


RULES: Final[dict[str, Callable[[Sequence[Row]], str | None]]] = {
    "entropy_collapse": _entropy,
    "nothing_to_compare": _zero_variance,
    "agreement_falls": _agreement,
    "broken_replies": _errors,
    "stale_data": _stale,
    "not_finite": _not_finite,
    "lost_games": _lost,
    "restarts": _restarts,
}
"""Every rule by the name of what it finds."""
