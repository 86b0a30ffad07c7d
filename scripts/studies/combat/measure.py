"""How a policy fights: games against itself, against scripted players and against earlier policies."""

from __future__ import annotations

import json
from dataclasses import asdict
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.lib.recfunctions import structured_to_unstructured

from envs.melee.state import STOCKS
from scripts.studies.play_style.statistics import STYLE, statistics
from selfplay.commands.evaluation import evaluate
from selfplay.runner.match import Contender, Rules
from selfplay.train.imitation.recording import pairings_of, recorded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from envs.melee.replay import Replay
    from selfplay.checkpoint import RunDir

CAP: Final = 28_800  # frames, eight minutes: that of tournaments
BLOCK: Final = 25  # games at once; their frames take 15 MB each


def mirror(policy: Contender, characters: tuple[str, str], games: int, seed: int, stage: str) -> dict[str, float]:
    """Figures of games of a policy against itself with a cap of eight minutes. Blocks.

    Ends, pace and self-destructs are those that ``evaluate`` reports; the rest is counted from as many recorded games.
    """
    rules = Rules(stage=stage, max_episode_frames=CAP)
    played = evaluate(policy, policy, games, characters, rules, seed)
    assert played.finished is not None  # a fight
    assert played.seconds is not None
    made: list[NDArray[np.void]] = []
    percents: list[float] = []
    matchups = pairings_of([policy.id], [], games, characters, seed)
    for start in range(0, games, BLOCK):
        for replay in recorded(matchups[start : start + BLOCK], {policy.id: policy}, rules):
            made.append(statistics(replay.state, replay.end))
            percents.extend(killed_at(replay))
    sums = structured_to_unstructured(np.stack(made)).sum((0, 1))
    total = dict(zip(STYLE.names or (), sums.tolist(), strict=True))
    return {
        "games": games,
        "finished": played.finished,
        "minutes_a_game": played.seconds / 60.0,
        "stocks_a_minute": fmean(played.stocks_per_minute or ()),  # taken by a player
        "damage_a_minute": fmean(played.damage_per_minute or ()),
        "self_destructs_a_game": fmean(played.self_destructs or ()),  # of a player
        "kill_percent": float(np.median(percents)) if percents else 0.0,  # of all lost stocks
        "hits_an_opening": total["hits"] / max(total["openings"], 1.0),
        "openings_a_minute": total["openings"] / max(total["minutes"], 1e-9),
    }


def killed_at(replay: Replay) -> Iterator[float]:
    """Percent of the victim at every lost stock."""
    players = replay.state.players
    for seat in range(2):
        stocks, percent = players["stocks"][:, seat], players["percent"][:, seat]
        yield from percent[:-1][np.diff(stocks) < 0].tolist()
        if stocks[-1] == 1 and replay.end is not None and _lost(replay, seat):
            yield float(percent[-1])


def _lost(replay: Replay, seat: int) -> bool:
    """Whether a seat lost its last stock on the frame after the last recorded one."""
    return bool(statistics(replay.state, replay.end)["stocks_lost"][seat] == STOCKS)


def scores(
    policy: Contender,
    opponents: Sequence[Contender],
    characters: tuple[str, str],
    rules: Rules,
    games: int,
    seed: int,
) -> dict[str, dict[str, Any]]:
    """Results against each opponent, by id. Blocks."""
    return {other.id: asdict(evaluate(policy, other, games, characters, rules, seed)) for other in opponents}


def pace(run: RunDir) -> list[dict[str, float]]:
    """Mirror games of a training in quarters of its steps: stocks and damage a minute of a player, share finished."""
    rows = [json.loads(line) for line in run.metrics.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if "minutes/mirror" in row]
    last = max((row["total_steps"] for row in rows), default=0)
    quarters: list[list[dict[str, float]]] = [[], [], [], []]
    for row in rows:
        quarters[min(4 * row["total_steps"] // max(last, 1), 3)].append(row)
    return [_pace(quarter) for quarter in quarters if quarter]


def _pace(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    minutes = sum(row["minutes/mirror"] for row in rows)
    games = sum(row["games/mirror"] for row in rows)
    means = {
        name: sum(row[f"{name}/mirror"] * row["minutes/mirror"] for row in rows) / minutes
        for name in ("stocks_per_minute", "damage_per_minute")
    }
    return {**means, "finished": sum(row["finished/mirror"] * row["games/mirror"] for row in rows) / games}
