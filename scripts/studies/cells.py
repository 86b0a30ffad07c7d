"""Cells: the finished measurements of a study, one JSON file for each variant and seed.

A finished cell is not measured again, unless rules, scripted players or observations have another version; delete its
file to repeat it.
"""

from __future__ import annotations

import json
import math
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from scripts.studies.charts import Curve, Plot, lines
from scripts.studies.pages import versions, write_json
from selfplay.commands.train_or_resume import finish, is_finished
from selfplay.config.fighting_cli import parse
from selfplay.errors import ConfigError, SelfPlayError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from selfplay.checkpoint import RunDir

Cell = dict[str, Any]
POINTS = 60  # of a curve
PRESET: Final = ("--game-type", "mock", "--preset", "laptop")
"""Arguments of train_self_play.py for the main job."""


class Cells:
    """The cells in one folder, by name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """File of a cell."""
        return self._folder / f"{name}.json"

    def read(self, names: Iterable[str]) -> list[Cell]:
        """Those of the named cells that are finished."""
        paths = map(self.path, names)
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]

    def names(self, pattern: str) -> list[str]:
        """Finished cells whose names match a glob pattern, sorted."""
        return sorted(path.relative_to(self._folder).with_suffix("").as_posix()
                      for path in self._folder.glob(f"{pattern}.json"))  # fmt: skip

    def make(
        self, name: str, measure: Callable[[], Mapping[str, Any]], expected: Mapping[str, Any] | None = None
    ) -> bool:
        """Measure a cell and write it, unless it is finished under these versions; whether it was measured.

        Args:
            name: Name of the cell.
            measure: Returns the figures.
            expected: Figures that a finished cell must have.

        Raises:
            ConfigError: a finished cell was measured with other settings than ``expected``.
        """
        found = self.read([name])
        finished = bool(found) and found[0].get("versions", versions()) == versions()
        if not finished:
            self.write(name, measure())
        elif other := [key for key, value in (expected or {}).items() if found[0].get(key) != value]:
            raise ConfigError(f"{self.path(name)} was measured with other {', '.join(other)}; move it away")
        return not finished

    def write(self, name: str, cell: Mapping[str, Any]) -> None:
        """Write a finished cell."""
        write_json(self.path(name), cell)


def train_if_missing(run: RunDir, arguments: Sequence[str], notify: Callable[[str], object]) -> None:
    """Train a run with these arguments of ``train_self_play.py``, or resume it, unless it is finished. Blocks.

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


def read_curves(
    run: RunDir, tags: Mapping[str, str], x: str, unit: float, digits: int | None = None
) -> dict[str, list[tuple[float, float]]]:
    """Points (x / unit, value) of each tag in the metrics of a run: means of at most ``POINTS`` equal parts."""
    rows = [json.loads(line) for line in run.metrics.read_text(encoding="utf-8").splitlines()]
    size = math.ceil(len(rows) / POINTS)
    parts = [rows[i : i + size] for i in range(0, len(rows), size)]
    means = {name: [fmean(row.get(tag, 0.0) for row in part) for part in parts] for name, tag in tags.items()}
    return {
        name: [
            (part[-1][x] / unit, value if digits is None else round(value, digits))
            for part, value in zip(parts, values, strict=True)
        ]
        for name, values in means.items()
    }


def write_chart(
    path: Path, curves: Sequence[tuple[str, Sequence[tuple[float, float]]]], x_label: str, y_label: str
) -> None:
    """Draw curves, each a name and points (x, y), as SVG; nothing where there are none."""
    if curves:
        drawn = [Curve(name, [x for x, _ in points], [y for _, y in points]) for name, points in curves]
        path.write_text(lines(Plot(drawn, x_label, y_label)), encoding="utf-8")
