"""Summary of a fight as text, and the moment of it that is most worth watching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay_melee import actions
from selfplay_melee.actions import CATEGORIES, categories_of
from selfplay_melee.drawing.looks import look_of
from selfplay_melee.drawing.scenery import scenery_of
from selfplay_melee.state import FPS

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Film

STOCK: Final = 100.0  # percent that a stock counts
CREDIT_S: Final = 4.0  # a stock is taken, not thrown away, if its owner was hit within this time
COMBO: Final = 2.0  # factor of damage to a player who is still in hitstun
COMEBACK: Final = 1.5  # factor of all gains of a player who was behind
BEHIND: Final = 50.0  # percent, stocks included, that a player who is behind lacks
AFTER_S: Final = 1.0  # of the window that follow its last gain, at most half of it
MARGIN_S: Final = 1.0  # between the start of a window and a lost stock


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


class Moment(NamedTuple):
    """A window of a fight."""

    start_s: float  # after the first frame
    gain: float  # what a player gains on the other, in percent, stocks included; 0: nothing happens
    why: str  # what happens, as a sentence without its stop
    stocks: int = 0  # that the player takes


def best_moment(film: Film, seconds: float, seats: Sequence[int] = (0, 1)) -> Moment:
    """The window of ``seconds`` in which one of ``seats`` gains most on the other player.

    Gains are damage dealt minus damage taken, in percent. A stock that a player loses soon after a hit counts 100 for
    the other; any lost stock costs its owner 100. Damage to a player in hitstun, a combo, counts twice. All gains count
    half more for a player who is behind when the window begins. Where stocks are taken, a window ends soon after one
    has left the count of stocks, so that it shows what led to it. No window begins within ``MARGIN_S`` of a stock lost
    by one of ``seats``, which would show a defeat first.
    """
    percent = np.nan_to_num(film.players["percent"]).astype(np.float64)
    dealt = np.maximum(np.diff(percent, axis=0, prepend=percent[:1]), 0)[:, ::-1]  # [T, 2] by the seat that hits
    stunned = np.nan_to_num(film.players["hitstun"])[:, ::-1] > 0
    combo = np.concatenate([stunned[:1] & False, stunned[:-1]])
    lost, taken, calm = _stocks(film, dealt, seats)
    harm = dealt * np.where(combo, COMBO, 1.0)
    gains = harm - harm[:, ::-1] + STOCK * taken - STOCK * lost
    total = np.concatenate([np.zeros((1, 2)), np.cumsum(gains, axis=0)])
    before = round(max(seconds - AFTER_S, seconds / 2) * FPS)
    ends = np.arange(1, len(film) + 1)  # the moments after the windows' gains
    starts = np.searchsorted(film.frames, film.frames - before, side="right")
    lead = STOCK * film.players["stocks"].astype(np.float64) - percent
    behind = lead[:, ::-1] - lead >= BEHIND
    gained = (total[ends] - total[starts]) * np.where(behind[starts], COMEBACK, 1.0)
    gained = np.where(calm[starts, None], gained, 0.0)
    with_stock = np.where(taken, gained, 0.0)
    if (with_stock[:, seats] > 0).any():
        gained = with_stock
    seat = max(seats, key=lambda seat: float(gained[:, seat].max()))
    end = int(gained[:, seat].argmax())
    start, gain = int(starts[end]), float(gained[end, seat])
    if gain <= 0:
        return Moment(0.0, 0.0, "neither player gains on the other")
    window = slice(start, end + 1)
    stocks = int(taken[window, seat].sum())
    text = f"{film.names[seat]} deals {dealt[window, seat].sum():.0f}%"
    text += f" and takes {'a stock' if stocks == 1 else f'{stocks} stocks'}" if stocks else ""
    text += ", from behind" if behind[start, seat] else ""
    return Moment(float(film.frames[start] - film.frames[0]) / FPS, gain, text, stocks)


def _stocks(
    film: Film, dealt: NDArray[np.float64], seats: Sequence[int]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """When stocks leave the count: [T, 2] whether a seat loses one, and whether it takes one that it hit before.

    And [T] whether no stock of ``seats`` is lost within ``MARGIN_S``.
    """
    lost, taken, calm = np.zeros(dealt.shape, bool), np.zeros(dealt.shape, bool), np.ones(len(film), bool)
    for loss in losses(film):
        out = _left_the_blast_zone(film, loss)
        since = np.searchsorted(film.frames, film.frames[out] - round(CREDIT_S * FPS))
        lost[loss.t, loss.seat] = True
        taken[loss.t, 1 - loss.seat] = dealt[since:out, 1 - loss.seat].any()
        if loss.seat in seats:
            margin = round(MARGIN_S * FPS)
            calm &= (film.frames < film.frames[out] - margin) | (film.frames > film.frames[loss.t] + margin)
    return lost, taken, calm


def _left_the_blast_zone(film: Film, loss: Loss) -> int:
    """When the player of a lost stock was out: at the top that is up to two seconds before the stock is counted."""
    actions = film.players["action"][: loss.t, loss.seat]
    dead = categories_of(actions) == CATEGORIES.index("dead")
    return loss.t if not dead[-1] else loss.t - int(dead[::-1].argmin() or len(dead))
