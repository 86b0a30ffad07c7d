"""Summary of a fight as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from envs.melee import actions
from envs.melee.drawing.looks import look_of
from envs.melee.drawing.scenery import scenery_of
from envs.melee.state import FPS

if TYPE_CHECKING:
    from envs.melee.drawing.film import Film


class Loss(NamedTuple):
    """A stock that was lost."""

    t: int  # first moment without it
    seat: int
    percent: float  # at the end of the stock
    left: int


def losses(film: Film) -> list[Loss]:
    stocks = film.players["stocks"].astype(np.int64)
    percent = np.nan_to_num(film.players["percent"])
    found = np.argwhere((np.diff(stocks, axis=0) < 0) & (stocks[1:] >= 0))
    return [Loss(int(t) + 1, int(s), float(percent[t, s]), int(stocks[t + 1, s])) for t, s in found]


_ACTION_NAMES: Final = {
    number: name.lower().replace("_", " ")
    for name, number in vars(actions).items()
    if name.isupper() and isinstance(number, int) and name not in ("NUM_ACTIONS", "FIRST_SPECIAL")
}


def action_name(action: int) -> str:
    kind = "special" if action >= actions.FIRST_SPECIAL else "action"
    return _ACTION_NAMES.get(action, f"{kind} {action}")


def combo_text(hits: int, percent: int) -> str:
    return f"{hits} hits · {percent}%"


def clock(seconds: float) -> str:
    return f"{int(seconds // 60)}:{seconds % 60:04.1f}"


def summary(film: Film) -> list[str]:
    players = film.players
    names = [f"{name} ({look_of(int(players['character'][0, s])).name})" for s, name in enumerate(film.names)]
    lines = [f"{names[0]} against {names[1]}, {scenery_of(film.stage).name}, {clock(film.seconds)} ({film.title})"]
    for loss in losses(film):
        at = (int(film.frames[loss.t]) - int(film.frames[0])) / FPS
        lines.append(f"{clock(at):>7}  {film.names[loss.seat]} loses a stock at {loss.percent:.0f}%, {loss.left} left")
    ends = [
        f"{name} {int(players['stocks'][-1, s])} stocks and {np.nan_to_num(players['percent'][-1, s]):.0f}%"
        for s, name in enumerate(film.names)
    ]
    lines.append(f"{clock(film.seconds):>7}  the end: {', '.join(ends)}")
    return lines
