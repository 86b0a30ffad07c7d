"""Health rules for dialogue self-play, which read rows of ``DialogueReport.flat``; see ``health``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Final

from selfplay.dialogue.contract import CONTEXT, CUT_OFF, FAILED, LONG, REFUSED
from selfplay.report.health import SOON, HealthMonitor, MetricsRow, Rule, figures, growth, mean, restarted, stale

SURE: Final = 0.02  # entropy in nats per token below which exploration has collapsed
ALIKE: Final = 0.9  # share of groups with equal rewards above which there is little to learn from
FALLEN: Final = 0.1  # drop of the agreement from the first to the second half of the window
BROKEN: Final = 0.05  # share of games that end by an invalid reply
APART: Final = 0.1  # KL in nats per token between the server that samples and the learner; rounding causes 0.01


class DialogueHealth(HealthMonitor):
    """Watches a run of a dialogue game."""

    def __init__(self) -> None:
        super().__init__(RULES, EARLY)


def _share(rows: Sequence[MetricsRow], reason: str) -> float:
    """Share of the games that ended for a reason, which a row names only if a game did."""
    return sum(figures(rows, f"endings/{reason}")) / len(rows)


def _nothing_learned(rows: Sequence[MetricsRow]) -> str | None:
    steps = figures(rows, "losses/steps")
    if not steps or sum(steps) > sum(figures(rows, "losses/skipped")):
        return None
    return (
        "Nothing is learned: no update changes the model. Groups of equal rewards do not train "
        f"({mean(rows, 'losses/zero_variance', 0.0):.0%} of the groups), nor do groups of one game. Raise "
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
    entropy = mean(rows, "losses/entropy", 1.0)
    if entropy >= SURE:
        return None
    return (
        f"Entropy collapse: the replies hardly vary any more (entropy {entropy:.3f} nats a token). Raise --entropy, "
        "lower --learning-rate, or go back to an older generation."
    )


def _zero_variance(rows: Sequence[MetricsRow]) -> str | None:
    share = mean(rows, "losses/zero_variance", 0.0)
    if share <= ALIKE:
        return None
    return (
        f"Nothing to compare: in {share:.0%} of the groups all rewards are equal, and such groups do not train. Raise "
        "--games-per-state or --temperature, or use other states."
    )


def _agreement(rows: Sequence[MetricsRow]) -> str | None:
    found = figures(rows, "play/agreement")
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


def _not_finite(rows: Sequence[MetricsRow]) -> str | None:
    skipped = sum(figures(rows, "losses/skipped"))
    if not skipped:
        return None
    return f"{skipped:.0f} steps had a gradient that is not finite and were skipped. Lower --learning-rate."


def _other_weights(rows: Sequence[MetricsRow]) -> str | None:
    frozen = bool(figures(rows, "play/frozen"))
    known = bool(figures(rows, "losses/sampler_kl"))
    name = "losses/kl" if frozen and not known else "losses/sampler_kl"  # a frozen server has the weights of the start
    first, now = mean(rows[:SOON], name, 0.0), mean(rows[-SOON:], name, 0.0)
    if now <= APART:
        return None
    remedy = (
        "It never gets new ones: leave out --server-frozen, or lower --learning-rate and stop earlier."
        if frozen
        else "It does not take the weights that it is sent, or computes otherwise: compare its model, precision and "
        "log with those of the run, and start it anew."
    )
    return (
        f"The server samples with other weights than those that learn: KL {now:.2f} nats a token in the last "
        f"iterations, {first:.2f} in the first ones, so its games say little about the model. {remedy}"
    )


def _lost(rows: Sequence[MetricsRow]) -> str | None:
    lost = growth(rows, "play/lost")
    if lost < 5:
        return None
    return f"{lost:.0f} games were lost in the last {len(rows)} iterations; log.txt has the causes."


RULES: Final[dict[str, Rule]] = {
    "nothing_learned": _nothing_learned,
    "no_game_ends": _no_game_ends,
    "entropy_collapse": _entropy,
    "nothing_to_compare": _zero_variance,
    "agreement_falls": _agreement,
    "broken_replies": _errors,
    "stale_data": partial(stale, remedy="Lower --learning-rate or --epochs."),
    "other_weights": _other_weights,
    "not_finite": _not_finite,
    "lost_games": _lost,
    "restarts": partial(restarted, name="charts/restarts", lost="its games"),
}
"""All rules, by the name of the problem."""
EARLY: Final = ("nothing_learned", "no_game_ends", "other_weights")
