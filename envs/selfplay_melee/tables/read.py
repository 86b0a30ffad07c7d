"""Reading and checking one table file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay_melee.tables import layout
from selfplay_melee.tables.fits import Fits, read_fits
from selfplay_melee.tables.row import Row, action_id, open_table

if TYPE_CHECKING:
    import numpy as np

KINDS: Final = {
    "attack": layout.ATTACK_HIT,
    "grab": layout.GRAB_HIT,
    "throw": layout.THROW_HIT,
    "laser": layout.LASER_HIT,
}
DRIVES: Final = {"fall": layout.FALL, "path": layout.PATH, "flight": layout.FLIGHT, "free": layout.FREE}
FALLS: Final = {"helpless": layout.HELPLESS, "fall": layout.FREE_FALL}
LEADS: Final = (
    *("next_ground", "next_air", "lands_as", "leaves_as", "passes_as", "turns_as", "cancels_as"),
    *("combo_up", "combo_side", "combo_down", "again_as", "touch_as"),
)  # fields of a special action that name another
REPEATS: Final = {"never": 0, "pressed": layout.PRESSED, "held": layout.HELD, "charging": layout.CHARGING}
OWN: Final = {name: number for number, name in enumerate(layout.OWN_MOVES)}
TARGETS: Final = {"everybody": layout.EVERYBODY, "grounded": layout.GROUNDED, "airborne": layout.AIRBORNE}
FLAT: Final = 2  # points of a floor without slopes
MOVEMENTS: Final = {
    "still": (layout.STILL, 0),
    "fountain": (layout.FOUNTAIN, 2),
    "randall": (layout.RANDALL, 1),
    "wind": (layout.WIND, 0),
}  # and how many move
COMMON: Final = Path(__file__).with_name("common.toml")  # actions that are the same for most characters
MAX_GROUPS: Final = 31  # bits of ``MEMORY.hit_groups``

_ACTION_NUMBERS: Final = tuple(
    name for name in layout.ACTION.names or () if not name.startswith(("first_", "num_", "loop"))
)
_HIT_NUMBERS: Final = (
    *("radius", "damage", "angle", "kb_growth", "kb_base", "kb_fixed", "shield_damage"),
    *("speed_x", "speed_y", "life", "tip", "tail", "grows"),
)
_NEEDED_OF_ATTACKS: Final = ("radius", "damage", "angle")
_STAGE_NUMBERS: Final = tuple(
    name for name in layout.STAGE.names or () if name.startswith(("blast_", "spawn_", "respawn_"))
)


@dataclass(frozen=True, slots=True)
class HitEntry:
    """One hit circle over consecutive frames; ``path`` is its centre (x, y) on each, in a file one for all or each."""

    numbers: dict[str, float]
    path: list[list[float]]


@dataclass(frozen=True, slots=True)
class ActionEntry:
    """One action of one character; ``motion`` is the motion of the animation on each frame."""

    numbers: dict[str, int]
    motion: list[list[float]]
    hits: list[HitEntry]


@dataclass(frozen=True, slots=True)
class CharacterFile:
    """A checked character file."""

    name: str
    id: int
    attributes: dict[str, float]
    actions: dict[int, ActionEntry]
    specials: dict[int, dict[str, float]]
    fits: Fits


@dataclass(frozen=True, slots=True)
class StageFile:
    """A checked stage file.

    Surfaces are (y, left, right), the main floor first and those that move last; ``floor`` has the points (x, y) of
    the main floor from left to right, the outline is (y, half width) downwards.
    """

    name: str
    id: int
    numbers: dict[str, float]
    surfaces: list[list[float]]
    floor: list[list[float]]
    movement: str
    outline: list[list[float]]

    def write(self, record: np.void) -> None:
        record["id"] = self.id
        for name, value in self.numbers.items():
            record[name] = value
        record["num_surfaces"], record["num_outline"] = len(self.surfaces), len(self.outline)
        record["num_floor"], record["ledge_y"] = len(self.floor), self.floor[0][1]
        record["movement"], moving = MOVEMENTS[self.movement]
        record["num_movers"], first = moving, len(self.surfaces) - moving
        record["surface_mover"][:] = -1
        for i, (y, left, right) in enumerate(self.surfaces):
            record["surface_y"][i], record["surface_left"][i], record["surface_right"][i] = y, left, right
            record["surface_mover"][i] = max(i - first, -1)
        for i, (x, y) in enumerate(self.floor):
            record["floor_x"][i], record["floor_y"][i] = x, y
        for i, (y, x) in enumerate(self.outline):
            record["outline_y"][i], record["outline_x"][i] = y, x


def read_character(path: Path) -> CharacterFile:
    top = open_table(path)
    head = top.table("character")
    number = head.whole("id", highest=layout.NUM_IDS - 1)
    head.sources()
    head.done()
    row = top.table("attributes")
    attributes = {name: row.number(name, layout.ATTRIBUTE_DEFAULTS.get(name)) for name in layout.ATTRIBUTES}
    row.done()
    top.take("import", {})  # hints for ``importer``
    listed = _with_imported(Row(path.name, "actions", top.take("actions", {})), top.take("imported", {}))
    actions = {action_id(listed, name): _read_action(listed.table(name)) for name in list(listed.left)}
    moves = Row(path.name, "specials", top.take("specials", {}))
    specials = {action_id(moves, name): _read_special(moves.table(name)) for name in list(moves.left)}
    top.done()
    _check_specials(moves, specials, attributes)
    return CharacterFile(path.stem, number, attributes, actions, specials, read_fits(path))


def read_stage(path: Path) -> StageFile:
    top = open_table(path)
    row = top.table("stage")
    number = row.whole("id", highest=layout.NUM_IDS - 1)
    row.sources()
    numbers = {name: row.number(name) for name in _STAGE_NUMBERS}
    surfaces = row.points("surfaces", width=3)
    flat = [[x, y] for y, left, right in surfaces[:1] for x in (left, right)]
    floor = row.points("floor", default=flat)
    movement = row.choice("movement", MOVEMENTS, "still")
    stage = StageFile(path.stem, number, numbers, surfaces, floor, movement, row.points("outline"))
    row.done()
    top.done()
    _check_stage(row, stage)
    return stage


@cache
def _common() -> dict[str, object]:
    top = open_table(COMMON)
    top.sources()
    actions = top.table("actions").left
    top.done()
    return actions


def _with_imported(listed: Row, imported: object) -> Row:
    """Actions written by hand; missing fields come from the generated ones, then from those that are common to all."""
    layers = (_common(), Row(listed.file, "imported", imported).left, listed.left)
    merged: dict[str, object] = {}
    for name in dict.fromkeys(name for layer in layers for name in layer):
        fields: dict[str, object] = {}
        for layer in layers:
            part = layer.get(name, {})
            if not isinstance(part, dict):
                raise listed.fail(name, f"must be a table, got {part!r}")
            fields |= part
        merged[name] = fields
    return Row(listed.file, listed.name, merged)


def _read_action(row: Row) -> ActionEntry:
    numbers = {name: row.whole(name, 0) for name in _ACTION_NUMBERS}
    frames = numbers["frames"]
    for name in ("iasa", "charge", "intangible_to"):
        if numbers[name] > frames + 1:
            raise row.fail(name, f"is {numbers[name]}, after the last frame {frames}")
    motion = row.points("motion", default=[])
    if len(motion) > frames:
        raise row.fail("motion", f"has {len(motion)} frames, the action {frames}")
    hits = _read_hits(row, frames)
    row.done()
    return ActionEntry(numbers, motion, hits)


def _read_special(row: Row) -> dict[str, float]:
    numbers: dict[str, float] = {
        "own": OWN[row.choice("own", OWN, "none")],
        "drive": DRIVES[row.choice("drive", DRIVES, "fall")],
        "repeats": REPEATS[row.choice("repeats", REPEATS, "never")],
    }
    for name in ("next_air", "leaves_as"):
        if row.left.get(name) in FALLS:
            numbers[name] = FALLS[str(row.left.pop(name))]
    for name in layout.SPECIAL.names or ():
        if name not in numbers:
            numbers[name] = row.number(name) if name in row.left else float(layout.SPECIAL_DEFAULTS.get(name, 0))
    row.done()
    return numbers


def _check_specials(row: Row, specials: dict[int, dict[str, float]], attributes: dict[str, float]) -> None:
    """Check that every action that a button or another action leads to exists."""
    leads = [(f"attributes.{name}", attributes[name]) for name in layout.ATTRIBUTES[-8:]]
    for action, numbers in specials.items():
        leads += [(f"{action}.{name}", numbers[name]) for name in LEADS]
    for name, target in leads:
        if target > 0 and int(target) not in specials:
            raise row.fail(name, f"leads to {target:g}, which is not among the specials")


def _read_hits(row: Row, frames: int) -> list[HitEntry]:
    """Circles that follow each other without a pause are one group, which connects once.

    One that says "again" begins another group, and so does the release of a throw.
    """
    hits: list[HitEntry] = []
    group = last_end = 0
    for hit in row.tables("hits"):
        start, end = hit.whole("start", highest=frames), hit.whole("end", highest=frames)
        if not 1 <= start <= end:
            raise hit.fail("start", f"is {start}, must be from 1 to end, which is {end}")
        again = hit.whole("again", 0, highest=1)
        entry = _read_hit(hit, start, end)
        if hits and (again or start > last_end + 1 or entry.numbers["kind"] == layout.THROW_HIT):
            group += 1
        last_end = max(last_end, end)
        entry.numbers["group"] = group
        hits.append(entry)
    if group >= MAX_GROUPS:
        raise row.fail("hits", f"has {group + 1} separate hits, at most {MAX_GROUPS} are possible")
    return hits


def _read_hit(row: Row, start: int, end: int) -> HitEntry:
    kind = row.choice("kind", KINDS, "attack")
    targets = row.choice("targets", TARGETS, "everybody")
    numbers: dict[str, float] = {"start": start, "end": end}
    numbers |= {"kind": KINDS[kind], "targets": TARGETS[targets], "electric": row.whole("electric", 0, highest=1)}
    numbers["own"] = OWN[row.choice("own", OWN, "none")]
    numbers |= {"stored": row.whole("stored", 0, highest=1), "item_type": row.whole("item_type", 0)}
    for name in _HIT_NUMBERS:
        needed = name in _NEEDED_OF_ATTACKS and kind == "attack"
        numbers[name] = row.number(name, None if needed else 0.0)
    path = row.points("path", default=None if kind != "throw" else [[0.0, 0.0]] * (end - start + 1))
    if len(path) == 1:
        path *= end - start + 1  # it stays there
    if len(path) != end - start + 1:
        raise row.fail("path", f"has {len(path)} points, the frames {start} to {end} need {end - start + 1}")
    row.done()
    return HitEntry(numbers, path)


def _check_stage(row: Row, stage: StageFile) -> None:
    surfaces, outline, blast = stage.surfaces, stage.outline, stage.numbers
    if not 1 <= len(surfaces) <= layout.MAX_SURFACES:
        raise row.fail("surfaces", f"has {len(surfaces)} entries, valid are 1 to {layout.MAX_SURFACES}")
    for i, (_, left, right) in enumerate(surfaces):
        if not blast["blast_left"] < left < right < blast["blast_right"]:
            raise row.fail(f"surfaces[{i}]", f"must lie between the blast zones with left < right, got {left}, {right}")
    if not 2 <= len(outline) <= layout.MAX_OUTLINE:
        raise row.fail("outline", f"has {len(outline)} points, valid are 2 to {layout.MAX_OUTLINE}")
    for i, (y, half) in enumerate(outline):
        if half < 0 or (i and y >= outline[i - 1][0]):
            raise row.fail(f"outline[{i}]", "must go down from the floor with a width that is not negative")
    if len(surfaces) <= MOVEMENTS[stage.movement][1]:
        raise row.fail("movement", f"{stage.movement!r} needs platforms that move, after the others")
    _check_floor(row, stage)


def _check_floor(row: Row, stage: StageFile) -> None:
    (_, left, right), floor = stage.surfaces[0], stage.floor
    if not FLAT <= len(floor) <= layout.MAX_FLOOR or any(a[0] >= b[0] for a, b in pairwise(floor)):
        raise row.fail("floor", f"must be 2 to {layout.MAX_FLOOR} points from left to right")
    if floor[0] != [left, floor[-1][1]] or floor[-1][0] != right:
        raise row.fail("floor", "must end at both edges of the main floor, at one height")
    if stage.outline[0] != floor[-1][::-1] or left != -right:
        raise row.fail("outline[0]", "must be the edge of the main floor, which must be symmetric")
