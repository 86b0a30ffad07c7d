"""The mock and the real game in Dolphin, which have the same observation and action."""

from __future__ import annotations

from typing import Final

from scripts.studies.games import parts
from scripts.studies.pages import table
from selfplay.games.registry import find_game
from selfplay_melee.actions import CATEGORIES
from selfplay_melee.controller import CENTRE, SHOULDER_CODES, STICK_CODES, TAP_FRAMES
from selfplay_melee.dolphin.roster import CPU
from selfplay_melee.features import PENDING, PLAYER, feature_names
from selfplay_melee.kinds import DOLPHIN, MOCK
from selfplay_melee.play.content import SCRIPTED

MEANINGS: Final = {
    "x": "position, units × 0.01, mirrored",
    "y": "position, units × 0.01",
    "speed_x": "own speed, units a frame × 0.4, mirrored",
    "speed_y": "own speed, units a frame × 0.4",
    "knockback_x": "speed of knockback, units a frame × 0.4, mirrored",
    "knockback_y": "speed of knockback, units a frame × 0.4",
    "facing": "1 right, -1 left, mirrored",
    "percent": "percent × 0.01",
    "shield": "health of the shield / 60",
    "hitlag": "frames left × 0.1, at most 2",
    "hitstun": "frames left × 0.03, at most 2",
    "action_frame": "frame of the action × 0.03, at most 2",
    "busy": "frames until it can act × 0.04, at most 2",
    "hitting": "1 - 0.05 × frames until its attack hits, at least 0; 0 without one",
    "stocks": "stocks × 0.25",
    "jumps_left": "jumps × 0.5",
    "on_ground": "0 or 1",
    "invulnerable": "0 or 1",
    "edge_distance": "units to the nearer edge × 0.02, below 0 off the stage",
    "weight": "weight × 0.01",
    "gravity": "units a frame a frame × 5",
    "fall_speed": "units a frame × 0.4",
    "run_max": "running speed, units a frame × 0.5",
    "air_max": "speed in the air, units a frame",
    "full_hop": "speed of a full hop, units a frame × 0.3",
    "gap_x": "distance to the other player, units × 0.01",
    "gap_y": "its height above this player, units × 0.01",
    "gap_x_near": "distance × 0.05, at most 1",
    "gap_y_near": "height × 0.05, -1 to 1",
    "edge": "x of the right edge of the main floor, units × 0.01",
    "blast_top": "upper blast zone, units × 0.005",
    "blast_side": "blast zone at the side, units × 0.005",
    "blast_bottom": "lower blast zone, units × 0.005",
    "y of platform": "height of each platform from the left, units × 0.01",
    "left of platform": "its left end, units × 0.01, mirrored",
    "right of platform": "its right end, units × 0.01, mirrored",
    "last main_x": "-1 to 1, mirrored",
    "last c_x": "-1 to 1, mirrored",
    "last main_y": "-1 to 1",
    "last c_y": "-1 to 1",
    "last shoulder": "0 to 1",
}
"""By feature, without the player; a test compares the factors with the encoder."""


def _meaning(name: str) -> str:
    """Of a feature behind those of the players."""
    if name.startswith("platform_"):
        return MEANINGS[f"{name.rpartition('_')[2]} of platform"]
    if name.startswith("last_"):
        part = name.removeprefix("last_")
        return f"controller: {MEANINGS.get(f'last {part}', '1 while pressed')}"
    return MEANINGS[name]


def _observation() -> str:
    names = feature_names()
    first, begin = PLAYER.index(f"is_{CATEGORIES[0]}"), 2 * len(PLAYER)
    groups = ", ".join(f"{index} `{name}`" for index, name in enumerate(CATEGORIES))
    rows = parts.merged((index, name, MEANINGS[name]) for index, name in enumerate(PLAYER[:first]))
    rows.append((f"{first} to {len(PLAYER) - 1}", "`is_...`", f"1 for the group of its action: {groups}"))
    pending = names.index(f"pending_0_{PENDING[0]}")
    others = parts.merged((index, name, _meaning(name)) for index, name in enumerate(names[begin:pending], begin))
    listed = ", ".join(f"`{name}`" for name in PENDING)
    meaning = f"chosen for quarter P of the delay, 0 the earliest, means over its frames: {listed}"
    others.append((f"{pending} + {len(PENDING)} P on", "`pending_P_...`", meaning))
    head = ("index", "feature", "meaning")
    return (
        f"Of the player, `self_...`; those of its opponent, `other_...`, follow from index {len(PLAYER)} on:\n\n"
        f"{table(head, rows)}\n\n{table(head, others)}"
    )


def text() -> str:
    """The tables of the page."""
    kind = find_game("mock")
    stick = f"{CENTRE} is the centre, {STICK_CODES - 1} full right or up"
    choices = {
        **dict.fromkeys(kind.part_names[: kind.actions.binary], "1 is pressed"),
        **dict.fromkeys(("main_x", "main_y", "c_x", "c_y"), stick),
        "shoulder": f"analog trigger, {SHOULDER_CODES - 1} is full",
        "tap": f"1 releases buttons after {TAP_FRAMES} frames",
    }
    return parts.joined(
        [
            ("Observation", _observation()),
            ("Action", parts.actions(kind, choices)),
            ("Versions", parts.versions(kind)),
            ("Scripted players", parts.players(kind, SCRIPTED)),
            ("Characters and stages", _names()),
        ]
    )


def _names() -> str:
    more = sorted(set(DOLPHIN.characters) - set(MOCK.characters))
    rows = [
        ("characters", ", ".join(sorted(MOCK.characters))),
        ("characters of `dolphin` only", ", ".join(more)),
        ("stages", ", ".join(sorted(MOCK.stages))),
        ("computer players of `dolphin`", ", ".join(CPU)),
    ]
    return table(("", "names"), rows)
