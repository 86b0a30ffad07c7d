"""Cells: the finished measurements of a study, one for each variant and seed, all in one JSON file.

A finished cell is not measured again, unless rules, scripted players or observations have another version; delete its
entry to repeat it.
"""

from __future__ import annotations

import fnmatch
import json
from typing import TYPE_CHECKING, Any, Final

from scripts.studies.pages import versions, write_json
from selfplay.cli.ppo import parse
from selfplay.commands.train_or_resume import finish, is_finished
from selfplay.errors import ConfigError, SelfPlayError, boundary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from selfplay.checkpoint import RunDir

Cell = dict[str, Any]
PRESET: Final = ("--game-type", "mock", "--preset", "laptop")
"""Arguments of selfplay train for the main job."""
HUMAN: Final = ("--game-type", "mock", "--preset", "human")
"""The same with a person's reaction."""


class Cells:
    """The cells of a study by name, in one file; a single process writes it.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, names: Iterable[str]) -> list[Cell]:
        """Those of the named cells that are finished."""
        found = self._all()
        return [found[name] for name in names if name in found]

    def names(self, pattern: str) -> list[str]:
        """Finished cells whose names match a glob pattern, sorted."""
        return sorted(fnmatch.filter(self._all(), pattern))

    def make(self, name: str, measure: Callable[[], Mapping[str, Any]]) -> None:
        """Measure a cell and write it, unless it is finished under these versions."""
        found = self.read([name])
        if not found or found[0].get("versions", versions()) != versions():
            self.write(name, measure())

    def write(self, name: str, cell: Mapping[str, Any]) -> None:
        """Write a finished cell."""
        write_json(self._path, dict(sorted({**self._all(), name: cell}.items())))

    def remove(self, name: str) -> None:
        """Delete a cell, if there is one."""
        if name in (found := self._all()):
            del found[name]
            write_json(self._path, found)

    def _all(self) -> dict[str, Cell]:
        if not self._path.exists():
            return {}
        with boundary(ConfigError, f"{self._path} is no file of cells"):
            return dict(json.loads(self._path.read_text(encoding="utf-8")))


def train_if_missing(run: RunDir, arguments: Sequence[str], notify: Callable[[str], object]) -> None:
    """Train a run with these arguments of ``selfplay train``, or resume it, unless it is finished. Blocks.

    Raises:
        ConfigError: the folder holds a run of another length.
        SelfPlayError: the training was interrupted.
    """
    wanted = parse([*arguments, "--checkpoint", str(run.path)])
    if is_finished(run, wanted.config.run.timesteps):
        return
    notify(f"training {run.path}")
    if finish(run, wanted.config, wanted.explicit, wanted.preset):
        raise SelfPlayError(f"{run.path} was interrupted")
