"""Reading and checking one table file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from envs.errors import TableError
from envs.melee import actions as action_ids
from envs.melee.tables.layout import (
    ACTION,
    ATTACK_HIT,
    ATTRIBUTES,
    GRAB_HIT,
    MAX_OUTLINE,
    MAX_SURFACES,
    NUM_IDS,
    STAGE,
    THROW_HIT,
)

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

Point = tuple[float, float]
KINDS: Final = {"attack": ATTACK_HIT, "grab": GRAB_HIT, "throw": THROW_HIT}
MAX_GROUPS: Final = 31  # bits of ``MEMORY.hit_groups``

_ACTION_NUMBERS: Final = tuple(name for name in ACTION.names or () if not name.startswith(("first_", "num_")))
_HIT_NUMBERS: Final = ("radius", "damage", "angle", "kb_growth", "kb_base", "kb_fixed", "shield_damage")
_STAGE_NUMBERS: Final = tuple(
    name for name in STAGE.names or () if name.startswith(("blast_", "spawn_", "respawn_"))
)
_RANGES: Final = {
    "weight": (1.0, 200.0),
    "gravity": (0.001, 1.0),
    "radius": (0.1, 30.0),
    "damage": (0.0, 60.0),
    "angle": (0.0, 361.0),
    "kb_growth": (0.0, 300.0),
}


@dataclass(frozen=True, slots=True)
class HitEntry:
    """One hit circle over consecutive frames; ``path`` has its centre on each."""

    numbers: dict[str, float]
    path: list[Point]


@dataclass(frozen=True, slots=True)
class ActionEntry:
    """One action of one character."""

    numbers: dict[str, int]
    motion: list[Point]
    hits: list[HitEntry]


@dataclass(frozen=True, slots=True)
class CharacterFile:
    """A checked character file."""

    name: str
    id: int
    attributes: dict[str, float]
    actions: dict[int, ActionEntry]


@dataclass(frozen=True, slots=True)
class StageFile:
    """A checked stage file."""

    name: str
    id: int
    numbers: dict[str, float]
    surfaces: list[tuple[float, float, float]] = field(default_factory=list)  # y, left, right
    outline: list[Point] = field(default_factory=list)  # y, half width

    def write(self, record: np.void) -> None:
        """Fill a STAGE record."""
        record["id"] = self.id
        for name, value in self.numbers.items():
            record[name] = value
        record["num_surfaces"], record["num_outline"] = len(self.surfaces), len(self.outline)
        for i, (y, left, right) in enumerate(self.surfaces):
            record["surface_y"][i], record["surface_left"][i], record["surface_right"][i] = y, left, right
        for i, (y, x) in enumerate(self.outline):
            record["outline_y"][i], record["outline_x"][i] = y, x


class _Row:
    """A table of a file, with a name for messages; every key must be taken, none may be missing."""

    def __init__(self, file: str, row: str, values: Any) -> None:
        if not isinstance(values, dict):
            raise TableError(f"{file}: {row}: expected a table, got {values!r}")
        self.file, self.row, self.left = file, row, dict(values)

    def fail(self, name: str, why: str) -> TableError:
        return TableError(f"{self.file}: {self.row}: {name} {why}")

    def take(self, name: str, default: Any = None) -> Any:
        value = self.left.pop(name, default)
        if value is None:
            raise self.fail(name, "is missing")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(name, f"must be a number, got {value!r}")
        low, high = _RANGES.get(name, (-1e4, 1e4))
        if not low <= value <= high:
            raise self.fail(name, f"must be from {low:g} to {high:g}, got {value}")
        return float(value)

    def whole(self, name: str, default: int | None = None, highest: int = 10_000) -> int:
        value = self.number(name, default)
        if value != int(value) or not 0 <= value <= highest:
            raise self.fail(name, f"must be a whole number from 0 to {highest}, got {value:g}")
        return int(value)

    def points(self, name: str, width: int = 2, default: list[Any] | None = None) -> list[Any]:
        """Rows of ``width`` numbers each."""
        value = self.take(name, default)
        if not isinstance(value, list):
            raise self.fail(name, f"must be a list, got {value!r}")
        for i, point in enumerate(value):
            numeric = isinstance(point, list) and all(isinstance(x, int | float) for x in point)
            if not numeric or len(point) != width:
                raise self.fail(f"{name}[{i}]", f"must be {width} numbers, got {point!r}")
        return [tuple(map(float, point)) for point in value]

    def done(self) -> None:
        if self.left:
            raise self.fail(sorted(self.left)[0], "is not a known field")


def read_character(path: Path) -> CharacterFile:
    """Read and check one character file."""
    top = _open(path)
    head = _Row(path.name, "character", top.take("character"))
    number = head.whole("id", highest=NUM_IDS - 1)
    _sources(head)
    head.done()
    row = _Row(path.name, "attributes", top.take("attributes"))
    attributes = {name: row.number(name) for name in ATTRIBUTES}
    row.done()
    entries = {}
    for name, values in top.take("actions").items():
        entries[_action_id(path.name, name)] = _read_action(_Row(path.name, f"actions.{name}", values))
    top.done()
    return CharacterFile(path.stem, number, attributes, entries)


def _read_action(row: _Row) -> ActionEntry:
    numbers = {name: row.whole(name, 0) for name in _ACTION_NUMBERS}
    frames = numbers["frames"]
    for name in ("iasa", "charge", "intangible_to", "release"):
        if numbers[name] > frames + 1:
            raise row.fail(name, f"is {numbers[name]}, after the last frame {frames}")
    motion = row.points("motion", default=[])
    if len(motion) > frames:
        raise row.fail("motion", f"has {len(motion)} frames, the action {frames}")
    hits = []
    last_end = 0
    group = 0
    for i, values in enumerate(row.take("hits", [])):
        hit = _Row(row.file, f"{row.row}.hits[{i}]", values)
        start, end = (hit.whole(name, highest=frames) for name in ("start", "end"))
        if not 1 <= start <= end:
            raise hit.fail("start", f"is {start}, must be from 1 to end, which is {end}")
        # Circles that follow each other without a pause belong to one hit: they connect once.
        if hits and start > last_end + 1:
            group += 1
        last_end = max(last_end, end)
        hits.append(_read_hit(hit, start, end, group))
    if group >= MAX_GROUPS:
        raise row.fail("hits", f"has {group + 1} separate hits, at most {MAX_GROUPS} are possible")
    row.done()
    return ActionEntry(numbers, motion, hits)


def _read_hit(row: _Row, start: int, end: int, group: int) -> HitEntry:
    kind = row.take("kind", "attack")
    if kind not in KINDS:
        raise row.fail("kind", f"is {kind!r}, valid are {', '.join(KINDS)}")
    numbers: dict[str, float] = {"start": start, "end": end, "group": group, "kind": KINDS[kind]}
    for name in _HIT_NUMBERS:
        required = kind == "attack" and name in ("radius", "damage", "angle")
        numbers[name] = row.number(name, None if required else 1.0 if name == "radius" else 0.0)
    path = row.points("path", default=[] if kind == "throw" else None)
    if kind == "throw":
        path = path or [(0.0, 0.0)] * (end - start + 1)
    if len(path) != end - start + 1:
        raise row.fail("path", f"has {len(path)} points, the frames {start} to {end} need {end - start + 1}")
    row.done()
    return HitEntry(numbers, path)


def read_stage(path: Path) -> StageFile:
    """Read and check one stage file."""
    top = _open(path)
    row = _Row(path.name, "stage", top.take("stage"))
    number = row.whole("id", highest=NUM_IDS - 1)
    _sources(row)
    numbers = {name: row.number(name) for name in _STAGE_NUMBERS}
    surfaces = row.points("surfaces", width=3)
    outline = row.points("outline")
    row.done()
    top.done()
    _check_stage(row, numbers, surfaces, outline)
    return StageFile(path.stem, number, numbers, surfaces, outline)


def _check_stage(row: _Row, numbers: dict[str, float], surfaces: list[Any], outline: list[Any]) -> None:
    if not 1 <= len(surfaces) <= MAX_SURFACES:
        raise row.fail("surfaces", f"has {len(surfaces)} entries, valid are 1 to {MAX_SURFACES}")
    for i, (_, left, right) in enumerate(surfaces):
        if not numbers["blast_left"] < left < right < numbers["blast_right"]:
            raise row.fail(f"surfaces[{i}]", f"must lie between the blast zones with left < right, got {left}, {right}")
    if not 2 <= len(outline) <= MAX_OUTLINE:
        raise row.fail("outline", f"has {len(outline)} points, valid are 2 to {MAX_OUTLINE}")
    for i, (y, half) in enumerate(outline):
        if half < 0 or (i and y >= outline[i - 1][0]):
            raise row.fail(f"outline[{i}]", "must go down from the floor with a width that is not negative")
    if outline[0] != (surfaces[0][0], surfaces[0][2]) or surfaces[0][1] != -surfaces[0][2]:
        raise row.fail("outline[0]", "must be the edge of the main floor, which must be symmetric")


def _open(path: Path) -> _Row:
    try:
        return _Row(path.name, "file", tomllib.loads(path.read_text("utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{path.name}: not valid TOML: {error}") from error


def _sources(row: _Row) -> None:
    sources = row.take("sources")
    if not isinstance(sources, list) or not sources or not all(isinstance(text, str) for text in sources):
        raise row.fail("sources", "must be a list of texts that name where the figures come from")


def _action_id(file: str, name: str) -> int:
    value = getattr(action_ids, name.upper(), None)
    if isinstance(value, int):
        return value
    if name.isdecimal() and int(name) < action_ids.NUM_ACTIONS:
        return int(name)
    raise TableError(f"{file}: actions.{name} is not a known action (see envs/melee/actions.py)")
