"""What a run of a dialogue game tells at its end: how well its model plays, on states that it was not trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from selfplay.checkpoint.models import is_model, read_model
from selfplay.machine import processor, usable_cores
from selfplay.train.dialogue.evaluation import anchors, compare, held_out, judge_model
from selfplay.train.dialogue.exact import ask, judged
from selfplay.train.dialogue.players import reopen

if TYPE_CHECKING:
    from pydantic import JsonValue

    from envs.dialogue.contract import Exact
    from selfplay.report.reporter import Feed
    from selfplay.train.dialogue.session import DialogueSession
    from selfplay.train.progress import Progress


def dialogue_summary(session: DialogueSession, progress: Progress, feed: Feed) -> dict[str, Any]:
    """What ``summary.json`` has beside what all runs have. Blocks while the last generation is judged."""
    found = _judgement(session, feed) if progress.finished and session.config.run.evaluation_states else {}
    if progress.finished and session.entry.exact is not None:
        found["nash_conv"] = _exact(session, session.entry.exact, progress.generations, feed)
    return {
        "games": progress.games,
        "lost": progress.lost,
        "games_per_s_median": round(median(progress.speeds), 1) if progress.speeds else None,
        "processor": processor(),
        "cores": usable_cores(),
        "teaching": _teaching(Path(session.base)),
        **found,
    }


def _teaching(base: Path) -> dict[str, JsonValue] | None:
    """How the model was made that the run began with, where that was done here."""
    if not is_model(base):
        return None
    config = read_model(base).config
    return {name: config[name] for name in ("seconds", "looks") if name in config} or None


def _judgement(session: DialogueSession, feed: Feed) -> dict[str, Any]:
    """The model as it is now and as it began, on states that it was not trained on, beside scripted players."""
    seeds = held_out(session.config.run.evaluation_states)
    entry, rules, sampling = session.entry, session.rules, session.sampling
    feed.notice(f"Judging on {len(seeds)} states that were not trained on ...")
    after = judge_model(entry, rules, session.model, sampling, seeds)
    first = reopen(session.config, str(session.run.generations / "gen_0"), session.device)
    before = judge_model(entry, rules, first, sampling, seeds)
    document = after.document
    found = {
        **{name: document[name] for name in ("reward", "agreement", "format_errors")},
        **compare(after, before),
        "anchors": anchors(entry, rules, seeds),
    }
    for line in _table(found):
        feed.notice(line)
    return found


def _exact(session: DialogueSession, exact: Exact, generations: Sequence[str], feed: Feed) -> dict[str, JsonValue]:
    """How far the start, the newest generation and a mixture of all of them are from an equilibrium."""
    folder = session.run.generations
    models = (reopen(session.config, str(folder / name), session.device) for name in generations)
    found = judged([ask(model, exact, session.rules) for model in models], exact)
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
