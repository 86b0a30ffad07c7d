"""Data of characters, moves and stages, read and checked from the TOML files beside this module.

A character is one file in ``characters/``, a stage one file in ``stages/``; new files are found by their
folder. Each file names its sources. ``docs/melee/internals/mock_melee.md`` explains the fields. What was fitted to
replays stands in ``fitted/``, one file a character. A file that cannot be read leaves out that character or stage only,
with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Final, TypeVar, cast

import numpy as np

from selfplay.games.errors import UnknownNameError
from selfplay_melee.actions import FIRST_SPECIAL, NUM_ACTIONS
from selfplay_melee.errors import TableError
from selfplay_melee.physics.memory import blank_memory
from selfplay_melee.tables.kept import Kept, keep, kept_in, place
from selfplay_melee.tables.layout import ACTION, CHARACTER, HIT, HULL_FRAMES, NUM_IDS, SPECIAL, STAGE, Tables, as_tables
from selfplay_melee.tables.poses import OTHERS, read_poses
from selfplay_melee.tables.read import ActionEntry, CharacterFile, StageFile, read_character, read_stage

__all__ = ["CHARACTERS", "STAGES", "Tables", "check_readable", "load_tables", "names_of", "tables_of"]

_FOLDER = Path(__file__).resolve().parent
_READ: Final[dict[str, Callable[[Path], CharacterFile | StageFile]]] = {
    "characters": read_character,
    "stages": read_stage,
}
CHARACTERS: dict[str, int]
"""Numbers of the characters whose files can be read, by name; all files are read when this is first asked for."""
STAGES: dict[str, int]
"""The same of the stages."""


def __getattr__(name: str) -> dict[str, int]:
    if name not in ("CHARACTERS", "STAGES"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    own = _own()
    globals()["CHARACTERS"], globals()["STAGES"] = own.characters, own.stages
    return cast("dict[str, int]", globals()[name])


def names_of(kind: str) -> tuple[str, ...]:
    """Names of all files of the game of a kind, ``characters`` or ``stages``, whether they can be read or not."""
    return tuple(path.stem for path in sorted(_FOLDER.glob(f"{kind}/*.toml")))


@cache
def load_tables(folder: Path | None = None) -> Tables:
    """All tables; without a folder the game's own, those of them that can be read.

    They are read-only, and all games of a process share them.

    Raises:
        TableError: a file of ``folder`` is inconsistent; the message names the file, the row and the field.
    """
    return _own().tables if folder is None else _build(*_read(folder))


@cache
def _own() -> Kept:
    """The game's own tables, from the file in which they are kept if there is one."""
    path = place(_FOLDER)
    kept = None if path is None else kept_in(path)
    if kept is None:
        characters, stages = _read(_FOLDER)
        ids = ({entry.name: entry.id for entry in entries} for entries in (characters, stages))
        kept = Kept(_build(characters, stages), *ids)
        if (
            path is not None
            and len(characters) == len(names_of("characters"))
            and len(stages) == len(names_of("stages"))
        ):
            keep(path, kept)  # each start warns of files that are left out
    return kept


def tables_of(characters: Collection[str], stages: Collection[str]) -> Tables:
    """Tables of some of the game's own characters and stages, by name.

    Raises:
        UnknownNameError: there is none of that name that can be read.
    """
    all_characters, all_stages = _read(_FOLDER)
    return _build(_named("character", all_characters, characters), _named("stage", all_stages, stages))


def _named(kind: str, entries: tuple[_File, ...], names: Collection[str]) -> tuple[_File, ...]:
    known = [entry.name for entry in entries]
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return tuple(entry for entry in entries if entry.name in names)


def check_readable(*names: str | None) -> None:
    """Refuse characters and stages whose files cannot be read.

    Raises:
        TableError: a name is among them; the message names the file, the row and the field.
    """
    for kind, read in _READ.items():
        for name in set(names) & set(names_of(kind)):
            path = _FOLDER / kind / f"{name}.toml"
            try:
                read(path)
            except TableError as error:
                raise TableError(f"{path}: {error}") from error


@cache
def _read(folder: Path) -> tuple[tuple[CharacterFile, ...], tuple[StageFile, ...]]:
    characters = _read_all(folder, "characters", read_character)
    stages = _read_all(folder, "stages", read_stage)
    for kind, entries in (("character", characters), ("stage", stages)):
        ids = [entry.id for entry in entries]
        for entry in entries:
            if ids.count(entry.id) > 1:
                raise TableError(f"{entry.name}.toml: {kind} id {entry.id} is used by more than one file")
    return characters, stages


_File = TypeVar("_File", CharacterFile, StageFile)


def _read_all(folder: Path, kind: str, read: Callable[[Path], _File]) -> tuple[_File, ...]:
    """Every file of a kind; one of the game's own that cannot be read is left out."""
    found = []
    for path in sorted(folder.glob(f"{kind}/*.toml")):
        try:
            found.append(read(path))
        except TableError as error:
            if folder != _FOLDER:
                raise
            warnings.warn(f"{kind}/{error}; {path.stem} is left out", stacklevel=2)
    return tuple(found)


def _build(characters: tuple[CharacterFile, ...], stages: tuple[StageFile, ...]) -> Tables:
    rows = np.zeros(len(characters), CHARACTER)
    stage_rows = np.zeros(len(stages), STAGE)
    specials = np.zeros((len(characters), NUM_ACTIONS - FIRST_SPECIAL), SPECIAL)
    actions = _Actions(len(characters))
    hull = np.zeros((len(characters), NUM_ACTIONS, HULL_FRAMES))
    for row, character in enumerate(characters):
        rows[row]["id"] = character.id
        for name, value in character.attributes.items():
            rows[row][name] = value
        for action, frames in character.fits.loops.items():
            actions.records[row, action]["loop"] = frames
        hull[row] = character.fits.default_hull
        for action, heights in character.fits.hull.items():
            hull[row, action, : len(heights)] = heights
            hull[row, action, len(heights) :] = heights[-1]
        for action, entry in character.actions.items():
            actions.add(row, action, entry)
        for action, numbers in character.specials.items():
            for name, value in numbers.items():
                specials[row, action - FIRST_SPECIAL][name] = value
    for row, stage in enumerate(stages):
        stage.write(stage_rows[row])
    poses = read_poses()
    return as_tables(
        characters=rows,
        actions=actions.records,
        specials=specials,
        hits=np.array(actions.hits, HIT),
        hull=hull,
        poses=np.stack([poses.of_body[poses.bodies.get(character.name, OTHERS)] for character in characters]),
        capsules=poses.capsules,
        bounds=poses.bounds,
        points=np.array(actions.points, np.float64).reshape(-1, 2),
        stages=stage_rows,
        blank=blank_memory(),
        character_rows=_rows_of([character.id for character in characters]),
        stage_rows=_rows_of([stage.id for stage in stages]),
    )


class _Actions:
    """Collects the actions of all characters, their hits and points in flat tables."""

    def __init__(self, num_characters: int) -> None:
        self.records = np.zeros((num_characters, NUM_ACTIONS), ACTION)
        self.hits: list[tuple[float, ...]] = []
        self.points: list[list[float]] = []

    def add(self, row: int, action: int, entry: ActionEntry) -> None:
        record = self.records[row, action]
        for name, value in entry.numbers.items():
            record[name] = value
        record["first_motion"], record["num_motion"] = len(self.points), len(entry.motion)
        self.points.extend(entry.motion)
        record["first_hit"], record["num_hits"] = len(self.hits), len(entry.hits)
        for hit in entry.hits:
            numbers = {**hit.numbers, "first_point": len(self.points)}
            self.points.extend(hit.path)
            self.hits.append(tuple(numbers[name] for name in HIT.names or ()))


def _rows_of(ids: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    rows = np.full(NUM_IDS, -1, np.int32)
    rows[ids] = np.arange(len(ids))
    return rows
