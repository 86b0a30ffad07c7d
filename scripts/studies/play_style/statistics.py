"""What both seats of a game do, counted from its frames: the same for replay files and games of the mock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from scripts.studies.play_style.openings import among, changes, kill_percents, openings
from selfplay_melee import actions as a
from selfplay_melee.behaviour import behaviour
from selfplay_melee.state import NUM_SEATS

if TYPE_CHECKING:
    from selfplay_melee.slp.start import End
    from selfplay_melee.state import GameState

RECENT: Final = 8  # frames before a landing in which a jump and an air dodge make it a wavedash
_AIR: Final = ((a.JUMP_SQUAT, a.FALL_AERIAL_B), (a.AIR_DODGE, a.AIR_DODGE))  # what a wavedash may land from

# Counts of one seat in one game, and what they are shares of.
STYLE: Final = np.dtype(
    [
        (name, "f8")
        for name in (
            *("minutes", "games", "frames", "openings", "hits", "opening_damage", "kills", "kill_percent"),
            *("dashes", "dash_dances", "wavedashes", "ledge_grabs", "grabs", "grabs_landed", "still"),
            *("self_destructs", "stocks_lost"),
        )
    ]
)
# Title, count and what it is a share of.
FIGURES: Final = (
    ("openings a minute", "openings", "minutes"),
    ("hits an opening", "hits", "openings"),
    ("damage an opening, %", "opening_damage", "openings"),
    ("openings a kill", "openings", "kills"),
    ("percent at a kill", "kill_percent", "kills"),
    ("dashes a minute", "dashes", "minutes"),
    ("dash-dances a minute", "dash_dances", "minutes"),
    ("wavedashes a minute", "wavedashes", "minutes"),
    ("ledge grabs a minute", "ledge_grabs", "minutes"),
    ("grabs tried a minute", "grabs", "minutes"),
    ("of them, grabs that caught, %", "grabs_landed", "grabs"),
    ("frames standing still, %", "still", "frames"),
    ("stocks lost a game", "stocks_lost", "games"),
    ("self-destructs a game", "self_destructs", "games"),
    ("minutes a game", "minutes", "games"),
)
SHARES: Final = frozenset({"still", "grabs_landed"})  # counts that are shown as percent


def statistics(state: GameState, end: End | None = None) -> NDArray[np.void]:
    """STYLE [2] of one game, from GO on: ``state`` has game [T] and players [T, 2]."""
    result = np.zeros(NUM_SEATS, STYLE)
    played = state.game["frame"] >= 0
    players = state.players[played]
    if not len(players):
        return result
    common = behaviour(state, end)
    for name in ("minutes", "self_destructs", "stocks_lost"):
        result[name] = common[name]
    result["games"], result["frames"] = 1, len(players)
    for seat in range(NUM_SEATS):
        _count_openings(players[:, seat], players[:, 1 - seat], result[seat])
        _count_actions(players[:, seat], result[seat])
    return result


def _count_openings(p: NDArray[np.void], victim: NDArray[np.void], result: np.void) -> None:
    found = openings(p["action"], p["action_frame"], victim["action"], victim["percent"], victim["stocks"])
    killed = kill_percents(found, victim["percent"])
    result["openings"], result["hits"], result["opening_damage"] = (
        len(found),
        found["hits"].sum(),
        found["damage"].sum(),
    )
    result["kills"], result["kill_percent"] = len(killed), killed.sum()


def _count_actions(p: NDArray[np.void], result: np.void) -> None:
    action = p["action"]
    before = np.concatenate([action[:1], action[:-1]])
    begins = changes(action, p["action_frame"])
    result["dashes"] = (begins & (action == a.DASH)).sum()
    result["dash_dances"] = ((action[2:] == a.DASH) & (action[1:-1] == a.TURN) & (action[:-2] == a.DASH)).sum()
    landed = (action == a.LANDING_FALL_SPECIAL) & (before != action) & among(before, _AIR)
    result["wavedashes"] = sum(_is_wavedash(action[max(0, t - RECENT + 1) : t]) for t in np.flatnonzero(landed))
    result["ledge_grabs"] = (begins & (action == a.CLIFF_CATCH)).sum()
    result["grabs"] = (begins & np.isin(action, (a.CATCH, a.CATCH_DASH))).sum()
    result["grabs_landed"] = (begins & np.isin(action, (a.CATCH_PULL, a.CATCH_DASH_PULL))).sum()
    result["still"] = (action == a.WAIT).sum()


def _is_wavedash(recent: NDArray[np.int32]) -> bool:
    """Whether a landing comes from an air dodge soon after a jump; the air dodge may last for no frame."""
    return bool((recent == a.JUMP_SQUAT).any())
