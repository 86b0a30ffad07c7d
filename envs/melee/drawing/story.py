"""What happened in a fight, in words and in few numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from envs.melee import actions
from envs.melee.drawing.film import FPS
from envs.melee.drawing.looks import look_of
from envs.melee.drawing.scenery import scenery_of

if TYPE_CHECKING:
    from envs.melee.drawing.film import Film


class Loss(NamedTuple):
    """A stock that was lost."""

    t: int  # the moment at which it was gone
    seat: int
    percent: float  # with which it ended
    left: int


def losses(film: Film) -> list[Loss]:
    """Stocks lost, in order of time."""
    stocks = film.players["stocks"].astype(np.int64)
    percent = np.nan_to_num(film.players["percent"])
    found = np.argwhere((np.diff(stocks, axis=0) < 0) & (stocks[1:] >= 0))
    return [Loss(int(t) + 1, int(s), float(percent[t, s]), int(stocks[t + 1, s])) for t, s in found]


def action_names() -> dict[int, str]:
    """Melee's actions by number, for people."""
    listed = vars(actions).items()
    return {
        number: name.lower().replace("_", " ")
        for name, number in listed
        if name.isupper() and isinstance(number, int) and name not in ("NUM_ACTIONS", "FIRST_SPECIAL")
    }


def action_name(action: int, names: dict[int, str]) -> str:
    """Of any number."""
    if action in names:
        return names[action]
    return f"special {action}" if action >= actions.FIRST_SPECIAL else f"action {action}"


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds // 60)}:{seconds % 60:04.1f}"


def summary(film: Film) -> list[str]:
    """The fight in lines of text: who, where, how long, and each stock."""
    players = film.players
    who = [f"{name} ({look_of(int(players['character'][0, s])).name})" for s, name in enumerate(film.names)]
    lines = [f"{who[0]} against {who[1]}, {scenery_of(film.stage).name}, {clock(film.seconds)} ({film.title})"]
    for loss in losses(film):
        at = (int(film.frames[loss.t]) - int(film.frames[0])) / FPS
        lines.append(f"{clock(at):>7}  {film.names[loss.seat]} loses a stock at {loss.percent:.0f}%, {loss.left} left")
    ends = [
        f"{name} {int(players['stocks'][-1, s])} stocks and {np.nan_to_num(players['percent'][-1, s]):.0f}%"
        for s, name in enumerate(film.names)
    ]
    lines.append(f"{clock(film.seconds):>7}  the end: {', '.join(ends)}")
    return lines
