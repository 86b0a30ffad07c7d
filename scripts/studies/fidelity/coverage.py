"""The actions that the mock claims to reproduce, chosen without looking at its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from envs.melee import actions as a
from envs.melee.tables import CHARACTERS, STAGES

if TYPE_CHECKING:
    from envs.melee.replay import Replay

# Mechanic, first and last action that belongs to it. Every action named here is covered, for every character.
MECHANICS: Final[tuple[tuple[str, int, int], ...]] = (
    ("stand", a.WAIT, a.WAIT),
    ("walk", a.WALK_SLOW, a.WALK_FAST),
    ("turn", a.TURN, a.TURN),
    ("run turn", a.TURN_RUN, a.TURN_RUN),
    ("dash", a.DASH, a.DASH),
    ("run", a.RUN, a.RUN_DIRECT),
    ("run brake", a.RUN_BRAKE, a.RUN_BRAKE),
    ("jump squat", a.JUMP_SQUAT, a.JUMP_SQUAT),
    ("jump", a.JUMP_F, a.JUMP_B),
    ("double jump", a.JUMP_AERIAL_F, a.JUMP_AERIAL_B),
    ("fall", a.FALL, a.FALL_AERIAL_B),
    ("special fall", a.FALL_SPECIAL, a.FALL_SPECIAL_B),
    ("tumble", a.DAMAGE_FALL, a.DAMAGE_FALL),
    ("crouch", a.SQUAT, a.SQUAT_RISE),
    ("landing", a.LANDING, a.LANDING),
    ("special landing", a.LANDING_FALL_SPECIAL, a.LANDING_FALL_SPECIAL),
    ("jab", a.JAB_1, a.JAB_3),
    ("dash attack", a.DASH_ATTACK, a.DASH_ATTACK),
    ("tilt", a.FTILT_HIGH, a.DTILT),
    ("smash", a.FSMASH_HIGH, a.DSMASH),
    ("aerial", a.NAIR, a.DAIR),
    ("aerial landing", a.LANDING_NAIR, a.LANDING_DAIR),
    ("hitstun", a.DAMAGE_HIGH_1, a.DAMAGE_FLY_ROLL),
    ("shield", a.GUARD_ON, a.GUARD_OFF),
    ("shield", a.GUARD_REFLECT, a.GUARD_REFLECT),
    ("shield stun", a.GUARD_STUN, a.GUARD_STUN),
    ("down", a.DOWN_BOUND_UP, a.DOWN_DAMAGE_UP),
    ("getup", a.DOWN_STAND_UP, a.DOWN_ROLL_B_UP),
    ("down", a.DOWN_BOUND, a.DOWN_DAMAGE),
    ("getup", a.DOWN_STAND, a.DOWN_ROLL_B),
    ("tech", a.TECH, a.TECH_B),
    ("grab", a.CATCH, a.CATCH_CUT),
    ("throw", a.THROW_F, a.THROW_D),
    ("roll", a.ROLL_F, a.ROLL_B),
    ("spot dodge", a.SPOT_DODGE, a.SPOT_DODGE),
    ("air dodge", a.AIR_DODGE, a.AIR_DODGE),
    ("platform drop", a.PLATFORM_DROP, a.PLATFORM_DROP),
    ("teeter", a.TEETER, a.TEETER_WAIT),
    ("ledge hang", a.CLIFF_CATCH, a.CLIFF_WAIT),
)
NAMES: Final = tuple(dict.fromkeys(name for name, _, _ in MECHANICS))
ENTERING: Final = (a.ENTRY, a.ENTRY_END)
NEAR_ITEM: Final = 60.0  # units from a player within which a projectile may matter
DECORATIONS: Final = frozenset({0xD2})  # item types that stages have for show: Shy Guys

# Pokémon Stadium before it changes: the numbers of floor and platforms in a file. Events 1 to 3 announce a change, at 4
# floors begin to move, 0 is its end; between two shapes there is always the normal one.
STADIUM_FLOORS, STADIUM_PLATFORMS, STADIUM_PLATFORM_Y = (34, 51, 52, 53, 54), (35, 36), 25.0
CHANGED, CHANGES, NORMAL = 0, 4, 5
CHANGE_BEFORE, CHANGE_AFTER = 303, 605  # frames from event 4, and from the announcement, to the end of a change

# Why a frame is not covered.
REASONS: Final = ("covered", "character", "stage", "action", "projectile")
COVERED, CHARACTER, STAGE, ACTION, PROJECTILE = range(len(REASONS))


def mechanic_table() -> NDArray[np.int16]:
    """[NUM_ACTIONS] index into NAMES of every action, -1 for those that are not covered."""
    table = np.full(a.NUM_ACTIONS, -1, np.int16)
    for name, first, last in MECHANICS:
        table[first : last + 1] = NAMES.index(name)
    return table


def mechanics(replay: Replay) -> NDArray[np.int16]:
    """[T, 2] mechanic of each player on each frame, -1 where the mock does not claim the action."""
    action = replay.state.players["action"]
    known = (action >= 0) & (action < a.NUM_ACTIONS)
    return np.where(known, mechanic_table()[np.where(known, action, 0)], -1).astype(np.int16)


def counted(replay: Replay) -> NDArray[np.bool_]:
    """[T] frames of play: after GO, with no player dead, respawning or entering."""
    action = replay.state.players["action"]
    away = (action <= a.REBIRTH_WAIT) | ((action >= ENTERING[0]) & (action <= ENTERING[1]))
    return (replay.state.game["frame"] >= 0) & ~away.any(1)


def reasons(replay: Replay) -> NDArray[np.int8]:
    """[T] COVERED, or why not."""
    result = np.zeros(len(replay.state.players), np.int8)
    result[_near_items(replay)] = PROJECTILE
    result[(mechanics(replay) < 0).any(1)] = ACTION
    result[transformed(replay)] = STAGE
    if int(replay.stage) not in STAGES.values():
        result[:] = STAGE
    known = np.isin(replay.state.players["character"], list(CHARACTERS.values()))
    result[~known.all(1)] = CHARACTER
    return result


def transformed(replay: Replay) -> NDArray[np.bool_]:
    """[T] frames on which Pokémon Stadium has, or may have, another shape than the mock's."""
    result = np.zeros(len(replay.state.players), bool)
    if replay.stage != STAGES["pokemon_stadium"]:
        return result
    if "stadium" not in replay.absent:
        event, kind = replay.stadium.T
        announced = (event > CHANGED) & (event < CHANGES) & (kind != NORMAL)
        result |= (event >= 0) & ~announced & ~((event == CHANGED) & (kind == NORMAL))
        return result
    for t in np.flatnonzero(_strange_floors(replay).any(1)):
        result[max(t - CHANGE_BEFORE, 0) : t + CHANGE_AFTER] = True
    return result


def _strange_floors(replay: Replay) -> NDArray[np.bool_]:
    """[T, 2] players who stand on a floor that Stadium has only during and after a change."""
    result = np.zeros(replay.state.players.shape, bool)
    if "post.ground" in replay.absent:
        return result
    p, floor = replay.state.players, replay.post["ground"]
    sinks = np.isin(floor, STADIUM_PLATFORMS) & (np.abs(p["y"] - STADIUM_PLATFORM_Y) > 0.1)
    strange = ~np.isin(floor, (*STADIUM_FLOORS, *STADIUM_PLATFORMS))
    result |= (p["on_ground"] == 1) & (p["action"] > a.REBIRTH_WAIT) & (strange | sinks)
    return result


def _near_items(replay: Replay) -> NDArray[np.bool_]:
    near = np.zeros(len(replay.state.players), bool)
    items = replay.items[~np.isin(replay.items["type"], list(DECORATIONS))]
    players = replay.state.players[items["t"]]
    distance = np.hypot(players["x"] - items["x"][:, None], players["y"] - items["y"][:, None])
    near[items["t"][(distance < NEAR_ITEM).any(1)]] = True
    return near


def action_name(action: int) -> str:
    """Name of an action as in ``envs.melee.actions``, or its number."""
    names = {value: name for name, value in vars(a).items() if type(value) is int and name not in _NOT_ACTIONS}
    return names.get(action, str(action)).lower()


_NOT_ACTIONS: Final = ("NUM_ACTIONS", "FIRST_SPECIAL")
