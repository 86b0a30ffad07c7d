"""How a policy fights: games against itself, against scripted players and against earlier policies."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.lib.recfunctions import structured_to_unstructured

from scripts.studies.play_style.statistics import STYLE, statistics
from selfplay.evaluation.evaluate import evaluate
from selfplay.games.registry import find_game
from selfplay.league.schedule import pairings_of
from selfplay.report.metrics import MIRROR, Pace
from selfplay.runner.match import Contender, Rules
from selfplay_melee import bots
from selfplay_melee.conditions import as_fight
from selfplay_melee.imitation.recording import recorded
from selfplay_melee.limits import LEDGE_GRAB_LIMIT
from selfplay_melee.show.columns import COLUMNS
from selfplay_melee.state import NUM_SEATS, STOCKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from selfplay.checkpoint import RunDir
    from selfplay.games.rated import Body
    from selfplay_melee.replay import Replay

CAP: Final = 28_800  # frames, eight minutes: that of tournaments
BLOCK: Final = 25  # games at once; their frames take 15 MB each


def scripted_beside(body: Body) -> tuple[str, ...]:
    """All scripted players, and those with a person's reaction for a policy that has one."""
    return tuple(dict.fromkeys((*bots.LADDER, *find_game("mock").ladder_of(body))))


def mirror(policy: Contender, home: Rules, games: int, seed: int) -> dict[str, float]:
    """Figures of games of a policy against itself with a cap of eight minutes. Blocks.

    Ends, pace and self-destructs are those that ``evaluate`` reports; the rest is counted from as many recorded games.
    """
    conditions = replace(as_fight(home.conditions), max_episode_frames=CAP, ledge_grab_limit=LEDGE_GRAB_LIMIT)
    rules = Rules("mock", conditions)
    played = evaluate(policy, policy, games, rules, seed).figures
    made: list[NDArray[np.void]] = []
    percents: list[float] = []
    matchups = pairings_of([policy.id], [], games, conditions.characters, seed)
    for start in range(0, games, BLOCK):
        for replay in recorded(matchups[start : start + BLOCK], {policy.id: policy}, rules):
            made.append(statistics(replay.state, replay.end))
            percents.extend(killed_at(replay, made[-1]["stocks_lost"]))
    sums = structured_to_unstructured(np.stack(made)).sum((0, 1))
    total = dict(zip(STYLE.names or (), sums.tolist(), strict=True))
    return {
        "games": games,
        "finished": played["finished"],
        "stocks_a_minute": fmean(played["stocks_per_minute"]),  # taken by a player
        "damage_a_minute": fmean(played["damage_per_minute"]),
        "self_destructs_a_game": fmean(played["self_destructs"]),  # of a player
        "kill_percent": float(np.median(percents)) if percents else 0.0,  # of all lost stocks
        "hits_an_opening": total["hits"] / max(total["openings"], 1.0),
    }


def killed_at(replay: Replay, lost: NDArray[np.float64]) -> Iterator[float]:
    """Percent of the victim at every lost stock.

    Args:
        replay: A recorded game, whose last frame is missing.
        lost: Stocks that each seat has lost in it, [2].
    """
    players = replay.state.players
    for seat in range(NUM_SEATS):
        stocks, percent = players["stocks"][:, seat], players["percent"][:, seat]
        yield from percent[:-1][np.diff(stocks) < 0].tolist()
        if stocks[-1] == 1 and lost[seat] == STOCKS:  # the last one on the missing frame
            yield float(percent[-1])


def scores(
    policy: Contender, opponents: Sequence[Contender], rules: Rules, games: int, seed: int
) -> dict[str, dict[str, Any]]:
    """Results against each opponent, by id. Blocks."""
    return {other.id: evaluate(policy, other, games, rules, seed).document() for other in opponents}


def quarters(run: RunDir) -> list[Pace]:
    """Mirror games of a training in quarters of its steps."""
    rows = [json.loads(line) for line in run.metrics.read_text(encoding="utf-8").splitlines()]
    rates = COLUMNS.rates
    ended = [(row["total_steps"], made) for row in rows if (made := Pace.from_row(row, MIRROR, rates)) is not None]
    parts: list[list[Pace]] = [[], [], [], []]
    for steps, made in ended:
        parts[min(4 * steps // max(ended[-1][0], 1), 3)].append(made)
    return [Pace.joined(part, rates) for part in parts if part]
