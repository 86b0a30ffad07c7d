"""Read one table of a TOML file field by field; messages name file, row and field."""

from __future__ import annotations

from collections.abc import Iterable
from reprlib import repr as brief
from typing import TYPE_CHECKING, Final

from selfplay.games.files import MAX_TEXT_BYTES, parse_toml, read_plain
from selfplay_melee import actions
from selfplay_melee.errors import TableError

if TYPE_CHECKING:
    from pathlib import Path

_RANGES: Final = {
    "weight": (1.0, 200.0),
    "gravity": (0.001, 1.0),
    "radius": (0.0, 30.0),
    "damage": (0.0, 60.0),
    "angle": (0.0, 361.0),
    "kb_growth": (0.0, 300.0),
}
_ANY_NUMBER: Final = (-10_000.0, 10_000.0)


class Row:
    """Fields are taken one by one; ``done`` raises if any is left. All methods raise TableError."""

    def __init__(self, file: str, name: str, values: object) -> None:
        self.file, self.name = file, name
        if not isinstance(values, dict):
            raise TableError(f"{file}: {name}: must be a table, got {brief(values)}")
        self.left: dict[str, object] = dict(values)

    def fail(self, field: str, why: str) -> TableError:
        return TableError(f"{self.file}: {self.name}: {field} {why}" if self.name else f"{self.file}: {field} {why}")

    def take(self, field: str, default: object = None) -> object:
        value = self.left.pop(field, default)
        if value is None:
            raise self.fail(field, "is missing")
        return value

    def number(self, field: str, default: float | None = None, within: tuple[float, float] = _ANY_NUMBER) -> float:
        """A number in the range that is known for the field, otherwise ``within``."""
        value = self.take(field, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(field, f"must be a number, got {brief(value)}")
        low, high = _RANGES.get(field, within)
        if not low <= value <= high:
            raise self.fail(field, f"must be from {low:g} to {high:g}, got {brief(value)}")
        return float(value)

    def whole(self, field: str, default: int | None = None, highest: int = 10_000) -> int:
        """A whole number from 0 to ``highest``."""
        value = self.number(field, default, (0.0, highest))
        if value != int(value):
            raise self.fail(field, f"must be a whole number from 0 to {highest}, got {value:g}")
        return int(value)

    def choice(self, field: str, valid: Iterable[str], default: str) -> str:
        value = self.take(field, default)
        if not isinstance(value, str) or value not in valid:
            raise self.fail(field, f"is {brief(value)}, valid are {', '.join(valid)}")
        return value

    def points(self, field: str, width: int = 2, default: list[list[float]] | None = None) -> list[list[float]]:
        value = self.take(field, default)
        if not isinstance(value, list):
            raise self.fail(field, f"must be a list, got {brief(value)}")
        points: list[list[float]] = []
        low, high = _ANY_NUMBER
        for i, point in enumerate(value):
            numbers = point if isinstance(point, list) and all(isinstance(x, int | float) for x in point) else []
            if len(numbers) != width or not all(low <= x <= high for x in numbers):
                raise self.fail(
                    f"{field}[{i}]", f"must be {width} numbers from {low:g} to {high:g}, got {brief(point)}"
                )
            points.append([float(x) for x in point])
        return points

    def numbers(self, field: str) -> list[float]:
        """A list of numbers."""
        value = self.take(field)
        low, high = _ANY_NUMBER
        if not isinstance(value, list) or not all(isinstance(x, int | float) and low <= x <= high for x in value):
            raise self.fail(field, f"must be a list of numbers from {low:g} to {high:g}, got {brief(value)}")
        return [float(x) for x in value]

    def table(self, field: str) -> Row:
        return Row(self.file, f"{self.name}.{field}" if self.name else field, self.take(field))

    def tables(self, field: str) -> list[Row]:
        """A list of tables, none where the field is absent."""
        value = self.take(field, [])
        if not isinstance(value, list):
            raise self.fail(field, f"must be a list of tables, got {brief(value)}")
        return [Row(self.file, f"{self.name}.{field}[{i}]", entry) for i, entry in enumerate(value)]

    def sources(self) -> None:
        """Check the list of texts that name where the figures come from."""
        value = self.take("sources")
        if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
            raise self.fail("sources", "must be a list of texts that name where the figures come from")

    def done(self) -> None:
        """Raise if a field is left: it is unknown."""
        if self.left:
            raise self.fail(min(self.left), "is not a known field")


def open_table(path: Path) -> Row:
    """The top table of a file."""
    try:
        return Row(path.name, "", parse_toml(read_plain(path, MAX_TEXT_BYTES, follow=True)))
    except (OSError, ValueError) as error:
        raise TableError(f"{path.name}: not valid TOML: {error}") from error


def action_id(row: Row, name: str) -> int:
    """An action's number, from its name in ``selfplay_melee.actions`` or, for special moves, the number itself."""
    value = vars(actions).get(name.upper())
    if isinstance(value, int):
        return value
    if name.isdecimal() and int(name) < actions.NUM_ACTIONS:
        return int(name)
    raise row.fail(name, "is not a known action (see envs/selfplay_melee/actions.py)")
