"""The mock and the real game in Dolphin, which have the same observation and action."""

from __future__ import annotations

from typing import Final

from scripts.studies.games import parts
from scripts.studies.pages import table
from selfplay.games.registry import find_game
from selfplay_melee.actions import CATEGORIES
from selfplay_melee.controller import CENTRE, SHOULDER_CODES, STICK_CODES
from selfplay_melee.dolphin.roster import CPU
from selfplay_melee.features import PLAYER, feature_names
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
    "y of platform": "height, units × 0.01",
    "left of platform": "left end, units × 0.01, mirrored",
    "right of platform": "right end, units × 0.01, mirrored",
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
        _, number, part = name.split("_")
        return f"platform {number} from the left: {MEANINGS[f'{part} of platform']}"
    if name.startswith("last_"):
        part = name.removeprefix("last_")
        return f"controller: {MEANINGS.get(f'last {part}', '1 while pressed')}"
    return MEANINGS[name]


def _observation() -> str:
    names = feature_names()
    first = PLAYER.index(f"is_{CATEGORIES[0]}")
    rows = [
        (index, index + len(PLAYER), f"`self_{name}`, `other_{name}`", MEANINGS[name])
        for index, name in enumerate(PLAYER[:first])
    ]
    groups = ", ".join(f"{index} `{name}`" for index, name in enumerate(CATEGORIES))
    last = first + len(CATEGORIES) - 1
    both = table(
        ("self", "other", "feature", "meaning"),
        [
            *rows,
            (
                f"{first} to {last}",
                f"{first + len(PLAYER)} to {last + len(PLAYER)}",
                "`self_is_...`, `other_is_...`",
                f"1 for the group of its action: {groups}",
            ),
        ],
    )
    begin = 2 * len(PLAYER)
    others = [(index, f"`{name}`", _meaning(name)) for index, name in enumerate(names[begin:], begin)]
    return f"{both}\n\n{table(('index', 'feature', 'meaning'), others)}"


def text() -> str:
    """The tables of the page."""
    kind = find_game("mock")
    stick = f"{CENTRE} is the centre, {STICK_CODES - 1} full right or up"
    choices = {
        **dict.fromkeys(kind.part_names[: kind.actions.binary], "1: pressed"),
        **dict.fromkeys(("main_x", "main_y", "c_x", "c_y"), stick),
        "shoulder": f"analog trigger, {SHOULDER_CODES - 1} is full",
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
