"""The folder of a sweep: its settings by number, and a run and a result for each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from selfplay.checkpoint import RunDir
from selfplay.checkpoint.documents import MAX_JSON_BYTES, Name, decode_json, encode_meta, from_document
from selfplay.checkpoint.run_dir import LOCK
from selfplay.checkpoint.store import make_folder, write_file
from selfplay.errors import ConfigError, RunLockedError
from selfplay.files import read_file
from selfplay.sweep.settings import By, OptunaSearch, SweepSettings
from selfplay.sweep.space import Values

SWEEP: Final = "sweep.json"
CELLS: Final = "cells"
MARKER: Final = ".shared-"  # begin of the name of a file by which nodes of a cluster know the folder
MAY_GROW: Final[dict[str, bool | set[str]]] = {"seeds": True, "settings": True, "method": {"samples"}}


class _File(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """A JSON document of a sweep."""


class Started(_File):
    """``sweep.json``: what the folder was begun with, and all settings in the order in which they were begun."""

    asked: SweepSettings
    by: By | None = None  # how the cells are judged; None: not one yet
    settings: Annotated[tuple[Values, ...], Field(max_length=100_000)] = ()


class Measured(_File):
    """The strength of the last policy of a cell after a share of the full length."""

    share: float
    strength: float | None  # more is better; None: it is judged with others, see ``judging``
    seconds: float  # that the run has trained for
    policy: Name  # a generation of the run


class CellFile(_File):
    """``cell.json``."""

    values: Values
    seed: int
    measured: tuple[Measured, ...] = ()
    error: str | None = None  # of the last try


@dataclass(frozen=True, slots=True)
class Cell:
    """A setting with a seed."""

    folder: Path
    setting: int
    values: Values
    seed: int

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def run(self) -> RunDir:
        return RunDir(self.folder / "run")

    def policy(self, measured: Measured) -> Path:
        """The folder of the policy that was measured."""
        return self.run.generations / measured.policy

    @property
    def log(self) -> Path:
        return self.folder / "log.txt"

    def read(self) -> CellFile:
        path = self.folder / "cell.json"
        found = _read(path, CellFile) if path.exists() else None
        return found or CellFile(values=self.values, seed=self.seed)

    def write(self, file: CellFile) -> None:
        make_folder(self.folder)
        path = self.folder / "cell.json"
        write_file(path, encode_meta(file, path))

    def measured(self, share: float) -> Measured | None:
        """The result after this share of the length, if there is one."""
        return next((each for each in self.read().measured if each.share == share), None)


class Folder:
    """The folder of a sweep, and its settings: each has a number by the order in which they were begun."""

    def __init__(self, path: Path, asked: SweepSettings) -> None:
        """Begin a sweep in a folder, or go on with it.

        ConfigError if it was begun with a file whose cells would not all be cells of this one.
        """
        self.path, self._asked = path, asked
        found = _read(path / SWEEP, Started) if (path / SWEEP).exists() else None
        names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
        if found is None and any(name != LOCK and not name.startswith(MARKER) for name in names):
            raise ConfigError(f"{path} is not empty and holds no sweep; name a new folder with --folder")
        if found is not None:
            _check_grown(path, found.asked, asked)
        self._settings = list(found.settings) if found else []
        self.by = found.by if found else None

    @property
    def settings(self) -> Sequence[Values]:
        """All that were begun."""
        return tuple(self._settings)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """No other sweep works in the folder."""
        make_folder(self.path)
        try:
            with RunDir(self.path).lock():
                yield
        except RunLockedError as error:
            raise RunLockedError(f"another sweep works in {self.path}; name another folder with --folder") from error

    def begin(self, settings: Sequence[Values], by: By) -> None:
        """Give numbers to settings that have none, and write all down, with how they are judged."""
        self._settings += [values for values in settings if values not in self._settings]
        started = Started(asked=self._asked, by=by, settings=tuple(self._settings))
        write_file(self.path / SWEEP, encode_meta(started, self.path / SWEEP))

    def cell(self, values: Values, seed: int) -> Cell:
        number = self._settings.index(values)
        return Cell(self.path / CELLS / f"s{number}-seed{seed}", number, values, seed)


def check_contained(started: Sequence[Values], first: Sequence[Values], path: Path) -> None:
    """Refuse a file that no longer has a setting which a sweep was begun with."""
    if gone := [values for values in started if values not in first]:
        raise ConfigError(f"{path} was begun with {gone[0]}, which the file no longer has: {RULE}")


RULE: Final = "a sweep may get more seeds, values or samples, and nothing else; or name a new folder with --folder"


def _check_grown(path: Path, before: SweepSettings, now: SweepSettings) -> None:
    """Refuse a file that changes more than it adds."""
    kept, wanted = (asked.model_dump(mode="json", exclude=MAY_GROW) for asked in (before, now))
    for name, value in kept.items():
        if value != wanted[name]:
            raise ConfigError(f"{path} was begun with {name} = {value}, the file has {wanted[name]}: {RULE}")
    if not set(before.seeds) <= set(now.seeds) or _samples(now) < _samples(before):
        raise ConfigError(f"{path} was begun with more seeds or samples: {RULE}")
    if (fixed := _fixed(before)) != _fixed(now):
        raise ConfigError(f"{path} was begun with {fixed} in all cells, the file has {_fixed(now)}: {RULE}")
    if before.settings != now.settings and _samples(before):
        raise ConfigError(f"{path}: [settings] from which samples were drawn cannot change: {RULE}")
    if isinstance(now.method, OptunaSearch) and set(before.seeds) != set(now.seeds):
        raise ConfigError(
            f"{path}: with method optuna only samples can grow, since it chose by the strength over seeds"
        )


def _fixed(asked: SweepSettings) -> Values:
    """The values that all cells share, see ``space_of``."""
    groups = ((group, part) for group, part in asked.settings.items() if isinstance(part, dict))
    named = {f"{group}.{name}": value for group, part in groups for name, value in part.items()}
    return {name: value for name, value in named.items() if not isinstance(value, (list, dict))}


def _samples(asked: SweepSettings) -> int:
    """0: all combinations of lists."""
    return getattr(asked.method, "samples", None) or 0


def _read(path: Path, model: Any) -> Any:  # noqa: ANN401
    return from_document(model, decode_json(read_file(path, MAX_JSON_BYTES), str(path)), str(path))
