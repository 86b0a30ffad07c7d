"""What a picture tells about a fight beside the figures: the move that a player does, and combos.

``browser/events.js`` finds them in a fight that goes on.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee import actions as a
from selfplay_melee.tables import load_tables

if TYPE_CHECKING:
    from selfplay_melee.drawing.film import Film

MOVE_STAYS: Final = 20  # frames for which the name of a move is shown after it
COMBO_STAYS: Final = 60  # frames for which a combo is shown after its victim left hitstun
COMBO_FROM: Final = 2  # hits of a combo that is shown
PERCENT_UNIT: Final = 10  # damage is counted in tenths of a percent, as pages have it
_MOST: Final = 255
_SPECIAL: Final = "special"
_DIRECTIONS: Final = ("neutral", "side", "up", "down")
_AIR_JUMPS: Final = 5  # states of the air jumps of a character that has its own
_BY_CATEGORY: Final = {
    "jab": "jab", "dash_attack": "dash attack", "ftilt": "forward tilt", "utilt": "up tilt", "dtilt": "down tilt",
    "fsmash": "forward smash", "usmash": "up smash", "dsmash": "down smash", "nair": "neutral air",
    "fair": "forward air", "bair": "back air", "uair": "up air", "dair": "down air", "special": _SPECIAL,
    "grab": "grab", "spot_dodge": "spot dodge", "roll": "roll", "air_dodge": "air dodge", "tech": "tech",
}  # fmt: skip
_BY_ACTION: Final = {
    a.CATCH_ATTACK: "pummel", a.THROW_F: "forward throw", a.THROW_B: "back throw", a.THROW_U: "up throw",
    a.THROW_D: "down throw", a.DOWN_ATTACK_UP: "getup attack", a.DOWN_ATTACK: "getup attack",
    a.CLIFF_ATTACK_SLOW: "ledge attack", a.CLIFF_ATTACK_QUICK: "ledge attack",
    a.CLIFF_ROLL_SLOW: "ledge roll", a.CLIFF_ROLL_QUICK: "ledge roll",
}  # fmt: skip
MOVE_NAMES: Final[tuple[str, ...]] = (
    "", *dict.fromkeys((*_BY_CATEGORY.values(), *_BY_ACTION.values())), *(f"{way} special" for way in _DIRECTIONS),
)  # fmt: skip
"""Moves by number; 0 is none."""


@cache
def moves_of(character: int) -> NDArray[np.uint8]:
    """The move of each action of a character, [NUM_ACTIONS], as numbers of ``MOVE_NAMES``.

    A special move is named by its direction where the character has a table of it.
    """
    names = [_BY_ACTION.get(n) or _BY_CATEGORY.get(a.CATEGORIES[c], "") for n, c in enumerate(a.CATEGORY_OF)]
    tables = load_tables()
    known = 0 <= character < len(tables.character_rows) and tables.character_rows[character] >= 0
    if known:
        row = tables.character_rows[character]
        own, actions = tables.characters[row], tables.actions[row]
        starts = {int(own[f"{way}_{where}"]): way for way in _DIRECTIONS for where in ("ground", "air")}
        for action in range(a.FIRST_SPECIAL, a.NUM_ACTIONS):
            before = [start for start in starts if 0 < start <= action]
            if before and actions[action]["frames"] > 0:
                names[action] = f"{starts[max(before)]} special"
        jump = int(own["air_jump_action"])
        if jump >= a.FIRST_SPECIAL:
            names[jump : jump + _AIR_JUMPS] = [""] * _AIR_JUMPS
    for state, common in a.OWN_STATES.get(character, {}).items():
        names[state] = names[common]
    table = np.array([MOVE_NAMES.index(name) for name in names], np.uint8)
    table.flags.writeable = False
    return table


def shown_moves(film: Film) -> NDArray[np.uint8]:
    """The move whose name is shown, [T, 2]: from its first frame to ``MOVE_STAYS`` frames after its last."""
    action, character = film.players["action"], film.players["character"]
    known = (action >= 0) & (action < a.NUM_ACTIONS)
    done = np.zeros(action.shape, np.uint8)
    for number in np.unique(character):
        rows = known & (character == number)
        done[rows] = moves_of(int(number))[action[rows]]
    last = np.maximum.accumulate(np.where(done > 0, np.arange(len(film))[:, None], -1), axis=0)
    since = film.frames[:, None] - film.frames[np.maximum(last, 0)]
    shown = np.take_along_axis(done, np.maximum(last, 0), axis=0)
    return np.where((last >= 0) & (since <= MOVE_STAYS), shown, 0).astype(np.uint8)


def tenths(film: Film) -> NDArray[np.uint16]:
    """Percent of both seats at each moment in units of a tenth, [T, 2]."""
    percent: NDArray[np.float32] = np.nan_to_num(film.players["percent"])
    return np.clip(percent * PERCENT_UNIT, 0, 65_535).astype(np.uint16)


def shown_combos(film: Film, held: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Combos of both seats at each moment, [T, 2, 2]: hits and whole percents, 0 where none is shown.

    A hit is a rise of the opponent's percent. It belongs to the combo of the hit before if the opponent has been held
    since. A combo is shown from its second hit to ``COMBO_STAYS`` frames after the opponent was last held.

    Args:
        film: What is filmed.
        held: [T, 2] whether a seat cannot act because the other hit or grabbed it.
    """
    percent = tenths(film)
    shown, frames = np.zeros((len(film), 2, 2), np.uint8), film.frames.tolist()
    for seat in (0, 1):
        track, caught = percent[:, 1 - seat].tolist(), held[:, 1 - seat].tolist()
        hits, start, dealt, goes_on, last = 0, 0, 0, False, 0
        for t in range(1, len(track)):
            struck = track[t] > track[t - 1]
            if struck:
                hits, start = (hits + 1, start) if goes_on else (1, track[t - 1])
                dealt = track[t] - start
            goes_on = caught[t] and (goes_on or struck)
            if goes_on or struck:
                last = frames[t]
            if hits >= COMBO_FROM and frames[t] - last <= COMBO_STAYS:
                shown[t, seat] = min(hits, _MOST), min((dealt + PERCENT_UNIT // 2) // PERCENT_UNIT, _MOST)
    return shown
