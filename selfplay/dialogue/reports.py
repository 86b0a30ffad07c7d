"""Reports of a run of a dialogue game: for each iteration, and at its end an evaluation on held-out states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfplay.dialogue.contract import AGREED, SEATS
from selfplay.dialogue.evaluation import anchors, compare, evaluate_model, held_out
from selfplay.dialogue.exact import exact_summary, legal_replies
from selfplay.dialogue.models import is_model, read_model
from selfplay.dialogue.players import reopen
from selfplay.dialogue.report.plain import DialogueReport
from selfplay.errors import ConfigError
from selfplay.games.errors import EnumerationError
from selfplay.league.modes import CURRENT
from selfplay.league.records import ladder_key
from selfplay.machine import processor, usable_cores

if TYPE_CHECKING:
    from pydantic import JsonValue

    from selfplay.dialogue.contract import Exact, Rules
    from selfplay.dialogue.grpo import GRPOStatistics
    from selfplay.dialogue.runner import Played
    from selfplay.dialogue.session import DialogueSession
    from selfplay.report.metrics import RatingReport
    from selfplay.report.reporter import Feed
    from selfplay.run.progress import Progress


_COUNTS: Final = frozenset({"rows", "groups", "singletons", "zero_variance", "tokens"})  # have fields of their own
_RATIO: Final = frozenset({"drift", "importance", "sampler_kl"})  # to the sampler, whose log-probabilities they need


def iteration_report(
    session: DialogueSession,
    progress: Progress,
    played: Sequence[Played],
    update: GRPOStatistics,
    phase_s: Mapping[str, float],
    rating: RatingReport | None,
) -> DialogueReport:
    run = session.config.run
    seats = [[game.outcome.rewards[seat] for game in played if seat in game.learner] for seat in range(SEATS)]
    rewards = [reward for seat in seats for reward in seat]
    means = [float(np.mean(seat)) if seat else 0.0 for seat in seats]
    known = all(instance.known for game in played for instance in game.instances)
    left_out = _COUNTS if known else _COUNTS | _RATIO
    return DialogueReport(
        iteration=progress.iteration,
        iterations=session.config.iterations,
        games=len(played),
        total_games=progress.games,
        turns=sum(len(game.turns) for game in played),
        total_steps=progress.total_steps,
        tokens=sum(instance.written for game in played for instance in game.instances),
        elapsed_s=progress.elapsed_s,
        phase_s=dict(phase_s),
        reward=float(np.mean(rewards)),
        seat_rewards=(means[0], means[1]),
        opponents=_rewards_against(played),
        agreement=float(np.mean([game.outcome.reason == AGREED for game in played])),
        refused=sum(turn.error is not None for game in played for turn in game.turns) / len(played),
        endings=Counter(game.outcome.reason for game in played),
        lost=progress.lost,
        rows=update.rows,
        zero_variance=update.zero_variance_share,
        update={name: value for name, value in asdict(update).items() if name not in left_out},
        restarts=progress.restarts,
        tasks=progress.tasks,
        shared=session.entry.shared_reward,
        frozen=session.endpoint is not None and session.server is None,
        timesteps=run.timesteps,
        limit_s=run.max_minutes * 60 if run.max_minutes else None,
        rating=rating,
    )


def _rewards_against(played: Sequence[Played]) -> dict[str, tuple[int, float]]:
    """Games and the learner's mean reward by opponent, the most frequent one first."""
    found: dict[str, list[float]] = {}
    for game in played:
        if game.opponent != CURRENT:
            found.setdefault(game.opponent, []).append(game.outcome.rewards[game.learner[0]])
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), ladder_key(item[0])))
    return {name: (len(rewards), float(np.mean(rewards))) for name, rewards in ordered}


def dialogue_summary(session: DialogueSession, progress: Progress, feed: Feed) -> dict[str, Any]:
    """Fields of ``summary.json`` of dialogue games. Blocks while the last generation is evaluated."""
    found = {}
    if progress.finished and session.config.run.evaluation_states and _can_play(session, feed):
        found = _evaluation(session, feed)
    if progress.finished and session.entry.exact is not None:
        found["nash_conv"] = _exact(session, session.entry.exact, progress.generations, feed)
    return {
        "games": progress.games,
        "lost": progress.lost,
        "games_per_s_median": round(median(progress.speeds), 1) if progress.speeds else None,
        "processor": processor(),
        "cores": usable_cores(),
        "teaching": _pretraining(Path(session.base)),
        **found,
    }


def _pretraining(base: Path) -> dict[str, JsonValue] | None:
    """Facts on the training of the initial model; None unless this program trained it."""
    if not is_model(base):
        return None
    config = read_model(base).config
    return {name: config[name] for name in ("seconds", "looks") if name in config} or None


def _can_play(session: DialogueSession, feed: Feed) -> bool:
    """Return False, with a notice, if only a server can write with the model."""
    try:
        return bool(session.model.parts)
    except ConfigError as error:
        feed.notice(f"No evaluation on held-out states: {error}")
        return False


def _evaluation(session: DialogueSession, feed: Feed) -> dict[str, Any]:
    seeds = held_out(session.config.run.evaluation_states)
    entry, rules, sampling = session.entry, session.rules, session.sampling
    feed.notice(f"Evaluating on {len(seeds)} held-out states ...")
    after = evaluate_model(entry, rules, session.model, sampling, seeds)
    first = reopen(session.config, str(session.run.generations / "gen_0"), session.device)
    before = evaluate_model(entry, rules, first, sampling, seeds)
    document = after.document
    found = {
        **{name: document[name] for name in ("reward", "agreement", "format_errors")},
        **compare(after, before),
        "anchors": anchors(entry, rules, seeds),
    }
    for line in _table(found):
        feed.notice(line)
    return found


def _exact(
    session: DialogueSession, solve: Callable[[Rules], Exact], generations: Sequence[str], feed: Feed
) -> dict[str, JsonValue] | None:
    """NashConv of the initial model, the newest, and a mixture of all; None if the game is too large."""
    try:
        exact = solve(session.rules)
    except EnumerationError as error:
        feed.notice(f"  No exact NashConv: {error}")
        return None
    folder = session.run.generations
    models = (reopen(session.config, str(folder / name), session.device) for name in generations)
    found = exact_summary([legal_replies(model, exact) for model in models], exact)
    mass: Any = found["illegal_mass"]
    feed.notice(
        f"  NashConv {found['average']:.3f} for a mixture of all {found['generations']} generations, "
        f"{found['newest']:.3f} for the newest, {found['start']:.3f} at the start; "
        f"illegal replies {mass['average']:.2%} on average"
    )
    return found


def _table(found: Mapping[str, Any]) -> list[str]:
    rows = [("this run", found["evaluation"]), ("its start", found["start"])]
    rows += [(name, anchor) for name, anchor in found["anchors"].items() if isinstance(anchor, dict)]
    opponents = list(found["evaluation"].get("against", ()))
    if opponents:
        lines = [f"  {'player, in both seats':<22}" + "".join(f"{f'vs {name}':>16}" for name in opponents)]
        lines += [f"  {name:<22}" + "".join(f"{row['against'][one]['reward']:>+16.3f}" for one in opponents)
                  for name, row in rows]  # fmt: skip
    else:
        lines = [f"  {'player, with itself':<22}{'reward':>8}{'agreed':>9}{'where agreed':>14}{'turns':>7}"]
        for name, row in rows:
            only = "" if row["agreed_only"] is None else f"{row['agreed_only']:.3f}"
            lines.append(f"  {name:<22}{row['reward']:>8.3f}{row['agreement']:>9.1%}{only:>14}{row['turns']:>7.1f}")
    known = [
        f"{name.removeprefix('known_')} {value:.3f}"
        for name, value in found["anchors"].items()
        if isinstance(value, float)
    ]
    if known:
        lines.append(f"  known without playing: {', '.join(known)}")
    gains = found["paired_gain"], found["paired_gain_agreed"]
    same = f"the same states, against {opponents[-1]}" if opponents else "the same states"
    lines += [
        f"  gain over its start on {where}: {each['gain']:+.3f} ± {each['interval']:.3f} ({each['states']} states)"
        for each, where in zip(gains, (same, "those where both agreed"), strict=True)
        if each["gain"] is not None
    ]
    return lines
