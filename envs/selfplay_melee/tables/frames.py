"""libmelee's ``framedata.csv``: where hit circles are, and how animations move players, frame by frame."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selfplay.games.files import opened
from selfplay_melee.actions import OWN_STATES
from selfplay_melee.errors import TableError

if TYPE_CHECKING:
    from pathlib import Path

MAX_FRAMES: Final = 1_000  # of an action; the longest that the sources have is 249. Bounds the importer's work
_CIRCLES: Final = 4  # of one frame


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of an animation.

    Hit circles that are out (radius, forward, up), how far the player moves, and whether it has turned around.
    """

    circles: tuple[tuple[float, float, float], ...]
    motion: tuple[float, float]
    turned: bool


Frames = dict[int, dict[int, Frame]]  # by action and frame


def read_frames(path: Path, character: int) -> Frames:
    frames: Frames = {}
    common = OWN_STATES.get(character, {})
    with opened(path, follow=True) as handle, open(handle, newline="", encoding="utf-8-sig", closefd=False) as file:
        for row in csv.DictReader(file):
            if int(row["character"]) == character:
                if int(row["frame"]) > MAX_FRAMES:
                    raise TableError(f"{path.name}: frame is {row['frame']}, the highest possible is {MAX_FRAMES}")
                circles = tuple(
                    (float(row[f"hitbox_{i}_size"]), float(row[f"hitbox_{i}_x"]), float(row[f"hitbox_{i}_y"]))
                    for i in range(1, _CIRCLES + 1)
                    if row[f"hitbox_{i}_status"] == "True"
                )
                motion = (float(row["locomotion_x"]), float(row["locomotion_y"]))
                action = common.get(int(row["action"]), int(row["action"]))
                shown = frames.setdefault(action, {})
                shown[int(row["frame"])] = Frame(circles, motion, row["facing_changed"] == "True")
    return frames
