"""Cells: one measured training each, a file of JSON in ``docs/data/equilibrium``.

A finished cell is not measured again; delete its file to repeat it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, JsonValue, NonNegativeInt

from scripts.studies import ROOT
from scripts.studies.pages import write_json
from selfplay.errors import ConfigError, boundary

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = ROOT / "docs" / "data" / "equilibrium"
NashConv = Annotated[FiniteFloat, Field(ge=-1e-6)]


class Key(NamedTuple):
    """What a cell measures. ``minutes`` are of processor time."""

    game: str
    method: str
    seed: int
    minutes: float

    @property
    def file(self) -> str:
        return f"{self.game}-{self.method}-seed{self.seed}-{self.minutes:g}min.json"


class Point(BaseModel):
    """NashConv after so many processor seconds and steps, of the last and of the average policy."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    seconds: Annotated[FiniteFloat, Field(ge=0)]
    steps: NonNegativeInt
    last: NashConv | None
    average: NashConv | None


class Cell(BaseModel):
    """A measured training.

    Attributes:
        spiel: The game, as OpenSpiel is asked for it.
        nodes: States of the game; ``information_states`` are those in which a seat decides.
        uniform: NashConv of the policy that plays all legal actions equally often.
        source: Of the method; ``settings`` are what it was given.
        command: With which this cell is measured again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    game: str
    method: str
    seed: NonNegativeInt
    minutes: Annotated[FiniteFloat, Field(gt=0)]
    spiel: str
    nodes: NonNegativeInt
    information_states: NonNegativeInt
    uniform: NashConv
    points: Annotated[tuple[Point, ...], Field(min_length=1)]
    source: str
    settings: dict[str, JsonValue]
    versions: dict[str, str]
    date: str
    processor: str
    cores: Annotated[int, Field(ge=1)]
    command: str

    @property
    def key(self) -> Key:
        return Key(self.game, self.method, self.seed, self.minutes)


def read_cell(path: Path) -> Cell:
    """The cell of a file.

    Raises:
        ConfigError: it is damaged, or of another cell than its name says.
    """
    with boundary(ConfigError, f"{path} is no cell of this study; delete it to measure it again"):
        cell = Cell.model_validate_json(path.read_bytes())
    if cell.key.file != path.name:
        raise ConfigError(f"{path} has the cell of {cell.key.file}; delete it to measure it again")
    return cell


def read_cells(folder: Path) -> list[Cell]:
    """All cells of a folder, by name."""
    return [read_cell(path) for path in sorted(folder.glob("*.json"))]


def write_cell(folder: Path, cell: Cell) -> None:
    """Write a cell in one step."""
    write_json(folder / cell.key.file, cell.model_dump(mode="json"))
