"""The actions and projectiles that the mock claims to reproduce, chosen without looking at its errors.

An action of ``GROUPS`` is claimed if the mock has rules for it. Any other action, special moves above all, is claimed
for the characters whose tables have a row for it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scripts.studies.fidelity.stadium import transformed
from selfplay_melee import actions as a
from selfplay_melee.tables import CHARACTERS, STAGES, Tables, load_tables
from selfplay_melee.tables.layout import THROW_HIT

if TYPE_CHECKING:
    from selfplay_melee.replay import Replay

RULES, ROWS, NOTHING = True, False, None  # claimed always; where the tables have a row; never

# Mechanic, first and last action that belongs to it, and what claims it.
GROUPS: Final[tuple[tuple[str, int, int, bool | None], ...]] = (
    ("stand", a.WAIT, a.WAIT, RULES),
    ("walk", a.WALK_SLOW, a.WALK_FAST, RULES),
    ("turn", a.TURN, a.TURN, RULES),
    ("run turn", a.TURN_RUN, a.TURN_RUN, RULES),
    ("dash", a.DASH, a.DASH, RULES),
    ("run", a.RUN, a.RUN_DIRECT, RULES),
    ("run brake", a.RUN_BRAKE, a.RUN_BRAKE, RULES),
    ("jump squat", a.JUMP_SQUAT, a.JUMP_SQUAT, RULES),
    ("jump", a.JUMP_F, a.JUMP_B, RULES),
    ("double jump", a.JUMP_AERIAL_F, a.JUMP_AERIAL_B, RULES),
    ("fall", a.FALL, a.FALL_AERIAL_B, RULES),
    ("special fall", a.FALL_SPECIAL, a.FALL_SPECIAL_B, RULES),
    ("tumble", a.DAMAGE_FALL, a.DAMAGE_FALL, RULES),
    ("crouch", a.SQUAT, a.SQUAT_RISE, RULES),
    ("landing", a.LANDING, a.LANDING, RULES),
    ("special landing", a.LANDING_FALL_SPECIAL, a.LANDING_FALL_SPECIAL, RULES),
    ("jab", a.JAB_1, a.JAB_3, RULES),
    ("rapid jab", a.RAPID_JAB_START, a.RAPID_JAB_END, ROWS),
    ("dash attack", a.DASH_ATTACK, a.DASH_ATTACK, RULES),
    ("tilt", a.FTILT_HIGH, a.DTILT, RULES),
    ("smash", a.FSMASH_HIGH, a.DSMASH, RULES),
    ("aerial", a.NAIR, a.DAIR, RULES),
    ("aerial landing", a.LANDING_NAIR, a.LANDING_DAIR, RULES),
    ("hitstun", a.DAMAGE_HIGH_1, a.DAMAGE_FLY_ROLL, RULES),
    ("shield", a.GUARD_ON, a.GUARD_OFF, RULES),
    ("shield", a.GUARD_REFLECT, a.GUARD_REFLECT, RULES),
    ("shield stun", a.GUARD_STUN, a.GUARD_STUN, RULES),
    ("down", a.DOWN_BOUND_UP, a.DOWN_DAMAGE_UP, RULES),
    ("getup", a.DOWN_STAND_UP, a.DOWN_ROLL_B_UP, RULES),
    ("down", a.DOWN_BOUND, a.DOWN_DAMAGE, RULES),
    ("getup", a.DOWN_STAND, a.DOWN_ROLL_B, RULES),
    ("tech", a.TECH, a.TECH_B, RULES),
    ("wall, ceiling", a.WALL_TECH, a.CEILING_TECH, NOTHING),
    ("broken shield", a.SHIELD_BREAK_FLY, a.DIZZY, RULES),
    ("grab", a.CATCH, a.CATCH_CUT, RULES),
    ("throw", a.THROW_F, a.THROW_D, RULES),
    ("grabbed", a.CAPTURE_PULLED_HIGH, a.CAPTURE_JUMP, RULES),
    ("roll", a.ROLL_F, a.ROLL_B, RULES),
    ("spot dodge", a.SPOT_DODGE, a.SPOT_DODGE, RULES),
    ("air dodge", a.AIR_DODGE, a.AIR_DODGE, RULES),
    ("clank", a.REBOUND_STOP, a.REBOUND, NOTHING),
    ("thrown", a.THROWN_F, a.THROWN_D, RULES),
    ("platform drop", a.PLATFORM_DROP, a.PLATFORM_DROP, RULES),
    ("teeter", a.TEETER, a.TEETER_WAIT, RULES),
    ("wall, ceiling", 247, 249, NOTHING),
    ("slide off", a.SLIDE_OFF, a.SLIDE_OFF, NOTHING),
    ("ledge hang", a.CLIFF_CATCH, a.CLIFF_WAIT, RULES),
    ("ledge get-up", a.CLIFF_CLIMB_SLOW, a.CLIFF_JUMP_QUICK_2, RULES),
    ("taunt", a.TAUNT_RIGHT, a.TAUNT_LEFT, ROWS),
    ("special", a.FIRST_SPECIAL, a.NUM_ACTIONS - 1, ROWS),
)
NAMES: Final = (*dict.fromkeys(name for name, *_ in GROUPS), "other")
ENTERING: Final = (a.ENTRY, a.ENTRY_END)
NEAR_ITEM: Final = 60.0  # units from a player within which a projectile may matter


class Projectile(NamedTuple):
    """An item that the actions ``first`` to ``last`` of a character create."""

    name: str
    character: str
    first: int
    last: int


# By item type. A projectile is claimed if one of those actions has a hit in the tables that flies, a ghost if any hits.
PROJECTILES: Final = {
    0x36: Projectile("laser", "fox", 341, 346),
    0x37: Projectile("laser", "falco", 341, 346),
    0x38: Projectile("ghost", "fox", 347, 352),
    0x39: Projectile("ghost", "falco", 347, 352),
    0x4F: Projectile("needle", "sheik", 341, 348),
    0x61: Projectile("chain", "sheik", 349, 354),
    0x6E: Projectile("disable", "mewtwo", 359, 360),
    0x70: Projectile("shadow ball", "mewtwo", 341, 352),
}
# Item types without hits of their own: Fox's and Falco's blasters, needles in the hand, smoke, Yoshi's Story's Shy
# Guys; the Links' bows and hookshots; the capes of Mario and Dr. Mario, Ness's bat; what Mr. Game & Watch shows in
# his attacks.
DECORATIONS: Final = frozenset(
    {0x4A, 0x4B, 0x50, 0x55, 0xD2, 0x53, 0x54, 0x65, 0x3E, 0x3F, 0x4C, 0x4D, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x7C}
)

# First action of the neutral, side, up and down special of each character.
SPECIALS: Final = {
    "bowser": (341, 347, 359, 361),
    "cptfalcon": (347, 349, 353, 357),
    "dk": (369, 379, 381, 383),
    "falco": (341, 347, 353, 360),
    "fox": (341, 347, 353, 360),
    "gameandwatch": (353, 355, 373, 375),
    "ganondorf": (347, 349, 353, 357),
    "jigglypuff": (346, 363, 365, 371),
    "kirby": (353, 383, 385, 393),
    "link": (344, 350, 356, 358),
    "mario": (343, 345, 347, 349),
    "marth": (341, 349, 367, 369),
    "mewtwo": (341, 351, 353, 359),
    "pikachu": (341, 343, 353, 359),
    "roy": (341, 349, 367, 369),
    "samus": (343, 349, 353, 355),
    "sheik": (341, 349, 355, 361),
    "ylink": (344, 350, 356, 358),
    "zelda": (341, 343, 349, 355),
}
DIRECTIONS: Final = ("neutral", "side", "up", "down")

# Why a frame is not covered.
REASONS: Final = ("covered", "character", "stage", "action", "projectile")
COVERED, CHARACTER, STAGE, ACTION, PROJECTILE = range(len(REASONS))


@cache
def mechanic_table() -> NDArray[np.int16]:
    """[NUM_ACTIONS] index into NAMES of every action."""
    table = np.full(a.NUM_ACTIONS, NAMES.index("other"), np.int16)
    for name, first, last, _ in GROUPS:
        table[first : last + 1] = NAMES.index(name)
    return table


def mechanics(replay: Replay, tables: Tables) -> NDArray[np.int16]:
    """[T, 2] index into NAMES of each player's mechanic on each frame."""
    p = replay.state.players
    table = np.tile(mechanic_table(), (len(tables.characters) + 1, 1))
    for row, c in enumerate(tables.characters):
        if c.air_jump_action > 0.0:  # jumps of a character that has many
            first = int(c.air_jump_action)
            table[row, first : first + int(c.air_jumps)] = NAMES.index("double jump")
    return table[_rows(p["character"], tables), _known(p["action"])]


def claimed_actions(tables: Tables) -> NDArray[np.bool_]:
    """[C + 1, NUM_ACTIONS] whether the mock claims an action of a character; nothing in the last row."""
    claimed = np.zeros((len(tables.characters) + 1, a.NUM_ACTIONS), bool)
    claimed[:-1] = tables.actions["frames"] > 0
    for _, first, last, claim in GROUPS:
        if claim is not ROWS:
            claimed[:-1, first : last + 1] = claim is RULES
    return claimed


def claims(replay: Replay, tables: Tables) -> NDArray[np.bool_]:
    """[T, 2] whether the mock claims the action of each player on each frame."""
    p = replay.state.players
    return claimed_actions(tables)[_rows(p["character"], tables), _known(p["action"])]


def _rows(character: NDArray[np.int32], tables: Tables) -> NDArray[np.int32]:
    """Rows of the tables; -1, the last, for characters without one."""
    rows = tables.character_rows
    rows_of: NDArray[np.int32] = np.where((character >= 0) & (character < len(rows)), rows[character % len(rows)], -1)
    return rows_of


def _known(action: NDArray[np.int32]) -> NDArray[np.int32]:
    known: NDArray[np.int32] = np.where((action >= 0) & (action < a.NUM_ACTIONS), action, 0)
    return known


def special_moves(character: NDArray[np.int32], action: NDArray[np.int32]) -> NDArray[np.int8]:
    """Index into DIRECTIONS of the special move that an action belongs to, -1 none."""
    moves = np.full(action.shape, -1, np.int8)
    for name, firsts in SPECIALS.items():
        for direction, first in enumerate(firsts):
            moves[(character == CHARACTERS.get(name, -1)) & (action >= first)] = direction
    return moves


def character_group(character: str) -> str:
    """Name of the group of the games of a character."""
    return f"movement windows of {character}"


def special_name(character: str, direction: int) -> str:
    """Name of a group of special moves."""
    return f"{character}: {DIRECTIONS[direction]} special"


def counted(replay: Replay) -> NDArray[np.bool_]:
    """[T] frames of play: after GO, with no player dead, respawning or entering."""
    action = replay.state.players["action"]
    away = (action <= a.REBIRTH_WAIT) | ((action >= ENTERING[0]) & (action <= ENTERING[1]))
    return (replay.state.game["frame"] >= 0) & ~away.any(1)


def reasons(replay: Replay, tables: Tables | None = None) -> NDArray[np.int8]:
    """[T] COVERED, or why not."""
    tables = tables or load_tables()
    result = np.zeros(len(replay.state.players), np.int8)
    unknown = [kind for kind in projectiles(replay) if not is_projectile_claimed(kind, tables)]
    result[near_items(replay, unknown)] = PROJECTILE
    result[~claims(replay, tables).all(1)] = ACTION
    result[transformed(replay)] = STAGE
    if int(replay.stage) not in STAGES.values():
        result[:] = STAGE
    known = np.isin(replay.state.players["character"], list(CHARACTERS.values()))
    result[~(known.all(1) & has_usual_rules(replay))] = CHARACTER
    return result


def is_playable(replay: Replay) -> bool:
    """Whether the mock has the stage, and the characters, of their usual size and strength, on all frames."""
    known = np.isin(replay.state.players["character"], list(CHARACTERS.values()))
    return int(replay.stage) in STAGES.values() and bool(known.all()) and has_usual_rules(replay)


def has_usual_rules(replay: Replay) -> bool:
    """Whether neither the size of the players nor the damage of their hits was set to another value for this game."""
    return all(ratio == 1.0 for seat in replay.seats for ratio in seat.ratios)


def is_projectile_claimed(kind: int, tables: Tables) -> bool:
    """Whether the tables have the flying hits of a projectile."""
    if kind not in PROJECTILES:
        return False
    name, character, first, last = PROJECTILES[kind]
    entries = tables.actions[tables.character_rows[CHARACTERS[character]], first : last + 1]
    kinds = [tables.hits["kind"][e["first_hit"] : e["first_hit"] + e["num_hits"]] for e in entries]
    return bool((np.concatenate(kinds) > (-1 if name == "ghost" else THROW_HIT)).any())


def projectiles(replay: Replay) -> list[int]:
    """Item types of a replay that may touch a player."""
    return [kind for kind in np.unique(replay.items["type"]).tolist() if kind not in DECORATIONS]


def near_items(replay: Replay, kinds: list[int] | None = None) -> NDArray[np.bool_]:
    """[T] whether an item of these kinds is near a player; of all kinds but decorations if None."""
    near = np.zeros(len(replay.state.players), bool)
    items = replay.items[np.isin(replay.items["type"], projectiles(replay) if kinds is None else kinds)]
    players = replay.state.players[items["t"]]
    distance = np.hypot(players["x"] - items["x"][:, None], players["y"] - items["y"][:, None])
    near[items["t"][(distance < NEAR_ITEM).any(1)]] = True
    return near


def action_name(action: int) -> str:
    """Name of an action as in ``selfplay_melee.actions``, or its number."""
    names = {value: name for name, value in vars(a).items() if type(value) is int and name not in _NOT_ACTIONS}
    return names.get(action, str(action)).lower()


def name_of(character: int, action: int) -> str:
    """Name of an action that is not covered, with its character if it is a special move."""
    names = {number: name for name, number in CHARACTERS.items()}
    return f"{names.get(character, character)} {action}" if action >= a.FIRST_SPECIAL else action_name(action)


_NOT_ACTIONS: Final = ("NUM_ACTIONS", "FIRST_SPECIAL")
