"""Small tables of the live view, and how they share the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

PADDING = 2  # between the columns of a listing
GAP = 3  # between listings side by side

Cell = str | Text


@dataclass(frozen=True, slots=True)
class Listing:
    """A title and rows of a label and its figures, the most important first."""

    head: tuple[str, ...]  # the title, then titles of the columns of figures
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def width(self) -> int:
        lengths = [[cell_len(str(cell)) for cell in row] for row in (self.head, *self.rows)]
        columns = max(map(len, lengths))
        widths = [max(row[i] for row in lengths if i < len(row)) for i in range(columns)]
        return sum(widths) + PADDING * (columns - 1)

    @property
    def height(self) -> int:
        return 1 + len(self.rows)

    def table(self) -> Table:
        table = Table.grid(padding=(0, PADDING, 0, 0))
        table.add_column(no_wrap=True)
        for _ in range(max(map(len, (self.head, *self.rows))) - 1):
            table.add_column(justify="right", no_wrap=True)
        title, *titles = self.head
        table.add_row(Text(title, style="bold"), *(Text(text, style="dim") for text in titles))
        for label, *figures in self.rows:
            table.add_row(Text(label, style="dim") if isinstance(label, str) else label, *figures)
        return table


def side_by_side(listings: Sequence[Listing], width: int, height: int | None) -> RenderableType:
    """The listings with rows in columns, the most important first, in a place so many cells wide and lines high.

    Listings that do not fit lose their last rows; the last listings are left out first. ``height`` None: no limit.
    """
    grid = Table.grid(padding=(0, GAP, 0, 0))
    columns = arranged([listing for listing in listings if listing.rows], width, height)
    if columns:
        grid.add_row(*(Group(*_stacked(column)) for column in columns))
    return grid


def arranged(listings: Sequence[Listing], width: int, height: int | None) -> list[list[Listing]]:
    """Each listing goes to the right of the others, else below the shortest column in which it fits."""
    columns: list[list[Listing]] = []
    for listing in listings:
        places = [*range(len(columns))]
        places.sort(key=lambda place: _height(columns[place]))
        for place in (len(columns), *places):
            above = columns[place] if place < len(columns) else []
            others = [column for i, column in enumerate(columns) if i != place]
            if others and _width([*others, [*above, listing]]) > width:
                continue
            room = None if height is None else height - _height(above) - bool(above)
            fitting = listing if room is None else replace(listing, rows=listing.rows[: max(room - 1, 0)])
            if fitting.rows:
                columns[place : place + 1] = [[*above, fitting]]
                break
    return columns


def _width(columns: Sequence[Sequence[Listing]]) -> int:
    return sum(max(listing.width for listing in column) for column in columns) + GAP * (len(columns) - 1)


def _height(column: Sequence[Listing]) -> int:
    return sum(listing.height for listing in column) + max(len(column) - 1, 0)


def _stacked(column: Sequence[Listing]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for listing in column:
        parts += [listing.table()] if not parts else [Text(), listing.table()]
    return parts
