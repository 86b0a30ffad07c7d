"""Counts of players' actions in a game: attacks, shields, dodges, jumps, approach, self-destructs, stocks, damage.

A pure function of the frames, so that games of people, of other programs and of the mock can be compared. It looks at
positions, percent, stocks and the categories of actions (``actions.CATEGORIES``), which every version of a replay file
records. Only frames from GO on count (frame 0 and later).

    attacks        changes into an attack, special move or grab; of a jab's hits the first counts, of a special move in
                   several states the first state. Attacks from the ledge and from the floor do not count
    specials       those of them that are special moves
    grabs          those of them that are grabs, whether they connect or not
    shields        changes into the shield from anything but the shield and being hit in it
    dodges         changes into a spot dodge, a roll or an air dodge; not techs, and not rolls from ledge or floor
    jumps          changes into a jump or an air jump, and what leaves the jump squat as an aerial or an air dodge
    self_destructs stocks lost without having been in hitstun, tumbling, grabbed, lying on the floor or dizzy since the
                   player could last act on the ground, hung on a ledge or respawned
    stocks_lost    all stocks lost
    damage         percent that the opponent's damage rose by
    apart          seconds of approach: more than 30 units from an opponent that is alive, with the player able to act
                   before and after the frame
    gained         units by which the player moved nearer in that time to the opponent's place of the frame before;
                   negative away from it. ``gained`` / ``apart`` is the speed of the approach
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.actions import CATEGORIES, categories_of
from selfplay_melee.slp.record import GAME_SET
from selfplay_melee.state import NUM_SEATS, records

if TYPE_CHECKING:
    from selfplay_melee.slp.start import End
    from selfplay_melee.state import GameState

COUNTS: Final = (
    "attacks", "specials", "grabs", "shields", "dodges", "jumps", "self_destructs", "stocks_lost", "damage",
)  # fmt: skip
# Of one seat; NaN where the file does not record what a number needs.
BEHAVIOUR: Final = np.dtype([(name, "f8") for name in ("minutes", "apart", "gained", *COUNTS)])

FAR: Final = 30.0  # units between players that cannot reach each other
FRAMES_A_MINUTE: Final = 3600

_SPECIALS: Final = ("special",)
_GRABS: Final = ("grab",)
_AERIALS: Final = ("nair", "fair", "bair", "uair", "dair")
_GROUNDED: Final = ("jab", "dash_attack", "ftilt", "utilt", "dtilt", "fsmash", "usmash", "dsmash")
_ATTACKS: Final = (*_GROUNDED, *_AERIALS, *_SPECIALS, *_GRABS)
_SHIELDS: Final = ("shield", "shield_stun")
_DODGES: Final = ("spot_dodge", "roll", "air_dodge")
_JUMPS: Final = ("jump", "double_jump")
_OUT_OF_SQUAT: Final = (*_AERIALS, "air_dodge")
_ON_FEET: Final = ("wait", "walk", "dash", "run", "turn", "crouch", "landing", "jump_squat")
_FREE: Final = (*_ON_FEET, *_JUMPS, "fall")
_AWAY: Final = ("dead", "respawn")
_SAFE: Final = (*_ON_FEET, "shield", "ledge_hang", "respawn")  # not "dead": real games take the stock later
_BEATEN: Final = ("hitstun", "tumble", "grabbed", "down", "shield_break")

_Bools = NDArray[np.bool_]


def behaviour(state: GameState, end: End | None = None) -> NDArray[np.void]:
    """What both seats do in one game, BEHAVIOUR [2].

    Args:
        state: T frames of the game: game [T], players [T, 2]; frames may be missing.
        end: How it ended. A game that a stock decided may lack its last frame, as those of the mock do: the seat that
            was placed last and has one stock in the last row has lost it, and that is counted too.
    """
    result = records(BEHAVIOUR, NUM_SEATS)
    frames, players = state.game["frame"], state.players
    if not len(frames):
        return result
    category = categories_of(players["action"])
    counted = (frames >= 0)[:, None]
    result["minutes"] = counted.sum() / FRAMES_A_MINUTE
    for name, starts in _starts(category).items():
        result[name] = (starts & counted).sum(0)
    lost = _lost(players["stocks"], end)
    counted_end = np.concatenate((counted, counted[-1:]))
    for name, those in (("stocks_lost", lost), ("self_destructs", lost * ~_beaten_before(category))):
        result[name] = np.where((players["stocks"] < 0).any(0), np.nan, (those * counted_end).sum(0))
    rise = np.diff(players["percent"], axis=0)
    result["damage"] = (np.where(rise <= 0.0, 0.0, rise) * counted[1:]).sum(0)[::-1]
    apart, gain = _approach(state, category)
    result["apart"] = (apart & counted[1:]).sum(0) / 60.0
    result["gained"] = np.where(apart & counted[1:], gain, 0.0).sum(0)
    return result


def _among(category: NDArray[np.int8], names: tuple[str, ...]) -> _Bools:
    return np.isin(category, [CATEGORIES.index(name) for name in names])


def _starts(category: NDArray[np.int8]) -> dict[str, _Bools]:
    """First rows of the counted actions, [T, 2] each; never the first row, since the one before it is unknown."""
    changes = np.zeros(category.shape, bool)
    changes[1:] = category[1:] != category[:-1]
    before = np.concatenate((category[:1], category[:-1]))
    jumps = _among(category, _JUMPS) | (_among(category, _OUT_OF_SQUAT) & _among(before, ("jump_squat",)))
    return {
        "attacks": changes & _among(category, _ATTACKS),
        "specials": changes & _among(category, _SPECIALS),
        "grabs": changes & _among(category, _GRABS),
        "shields": changes & _among(category, ("shield",)) & ~_among(before, _SHIELDS),
        "dodges": changes & _among(category, _DODGES),
        "jumps": changes & jumps,
    }


def _lost(stocks: NDArray[np.int32], end: End | None) -> NDArray[np.int32]:
    """Stocks lost in each row and after the last one, [T + 1, 2]."""
    lost = np.zeros((len(stocks) + 1, NUM_SEATS), np.int32)
    lost[1:-1] = np.maximum(-np.diff(stocks, axis=0), 0)
    if end is not None and end.method == GAME_SET and end.placements is not None and (stocks[-1] > 0).all():
        lost[-1] = (np.array(end.placements) > 0) & (stocks[-1] == 1)
    return lost


def _beaten_before(category: NDArray[np.int8]) -> _Bools:
    """Whether the opponent caused the stock lost in a row or after the last one, [T + 1, 2]."""
    rows = np.arange(len(category))[:, None]
    safe = np.maximum.accumulate(np.where(_among(category, _SAFE), rows, -1))
    beaten = np.maximum.accumulate(np.where(_among(category, _BEATEN), rows, -1))
    return np.concatenate((np.zeros((1, NUM_SEATS), bool), beaten > safe))


def _approach(state: GameState, category: NDArray[np.int8]) -> tuple[_Bools, NDArray[np.float64]]:
    """For every row but the first, [T - 1, 2]: whether it counts (``is_apart``), and the units gained."""
    here = np.stack((state.players["x"], state.players["y"]), axis=-1)
    there = here[:-1, ::-1]  # where the opponent stood a frame before
    far = np.linalg.norm(there - here[:-1], axis=-1)
    gain = far - np.linalg.norm(there - here[1:], axis=-1)
    free, alive = _among(category, _FREE), ~_among(category[:-1, ::-1], _AWAY)
    follows = (np.diff(state.game["frame"]) == 1)[:, None]
    apart: _Bools = (far > FAR) & free[:-1] & free[1:] & alive & follows  # not where a position is unknown
    return apart, gain
