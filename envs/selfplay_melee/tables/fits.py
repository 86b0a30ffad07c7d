"""The generated half of a character: what ``scripts.studies.fit_character`` measured from replays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from selfplay_melee import actions as a
from selfplay_melee.tables import layout
from selfplay_melee.tables.row import Row, action_id, open_table

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_HULL: Final = 4.0  # units; of a character without replays
DEFAULT_LOOPS: Final = {a.FALL: 8, a.FALL_AERIAL: 8, a.FALL_SPECIAL: 8}  # frames; most characters have these
FOLDER: Final = "fitted"  # beside the folder of the characters


@dataclass(frozen=True, slots=True)
class Fits:
    """Values of one character that replays gave."""

    default_hull: float = DEFAULT_HULL
    loops: dict[int, int] = field(default_factory=DEFAULT_LOOPS.copy)  # by action: frames until its animation restarts
    hull: dict[int, list[float]] = field(default_factory=dict)  # by action: height of the hull's bottom on each frame


def read_fits(character: Path) -> Fits:
    """The file of the same name in the folder ``fitted``; defaults if there is none."""
    path = character.parent.parent / FOLDER / character.name
    if not path.is_file():
        return Fits()
    top = open_table(path)
    head = top.table("fit")
    head.sources()
    head.done()
    listed = Row(path.name, "loops", top.take("loops", {}))
    loops = DEFAULT_LOOPS | {action_id(listed, name): listed.whole(name) for name in list(listed.left)}
    hulls = top.table("hull")
    default = hulls.number("default")
    fits = Fits(default, loops, {action_id(hulls, name): _heights(hulls.table(name)) for name in list(hulls.left)})
    top.done()
    return fits


def _heights(row: Row) -> list[float]:
    """Heights from frame 0 on; what they rest on is for the reader only."""
    heights = row.numbers("heights")
    if not 1 <= len(heights) <= layout.HULL_FRAMES:
        raise row.fail("heights", f"has {len(heights)} frames, valid are 1 to {layout.HULL_FRAMES}")
    for note in ("landings", "misses", "uncertainty"):
        row.number(note)
    row.done()
    return heights
