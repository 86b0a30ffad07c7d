"""Does self-play in words learn: runs of several seeds and settings, and what their ends say of it.

A run is called ``<arm>-<seed>``; an arm is a name and the flags that it adds to the laptop preset. Its training is a
folder, its figures are a JSON file; only what is missing is made.
"""

from __future__ import annotations

import io
import json
import math
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from selfplay.checkpoint import RunDir, has_state
from selfplay.checkpoint.store import write_file
from selfplay.errors import SelfPlayError
from selfplay.report.curves import Curve, svg
from selfplay.trainer.dialogue.app import train
from selfplay.trainer.dialogue.cli import parse
from selfplay.trainer.pages import put_between

COMMAND: Final = "python scripts/train_self_play.py --game-type matching --preset laptop --seed {seed}"
ARMS: Final[Mapping[str, str]] = {"dr_grpo": "", "grpo": "--advantage grpo"}
"""By name: flags beside the preset's."""
CURVES: Final = {
    "reward": ("play/reward", "reward of the games played"),
    "turns": ("play/turns", "turns of a game"),
    "entropy": ("losses/entropy", "entropy, nats a token"),
}
POINTS: Final = 60  # of a curve
KEPT: Final = (
    "iteration", "games", "total_steps", "elapsed_s", "processor", "cores", "evaluation", "start", "paired_gain",
    "paired_gain_agreed", "anchors", "teaching",
)  # fmt: skip


class WordsStudy:
    """A study of runs on the laptop's game.

    Args:
        runs: ``<arm>-<seed>`` are the runs.
        out: Where the figures go.
        tell: Is told how it goes.
    """

    def __init__(self, runs: Path, out: Path, tell: Callable[[str], object]) -> None:
        self._runs, self._out, self._tell = runs, out, tell

    def train(self, arm: str, seed: int) -> None:
        """Train a run, unless it is there and finished, and keep its figures. Blocks.

        Raises:
            SelfPlayError: it was interrupted.
        """
        run = RunDir(self._runs / f"{arm}-{seed}")
        if self._cell(arm, seed).exists():
            return
        if not (run.summary_json.exists() and run.read_summary()["finished"]):
            self._tell(f"training {arm}, seed {seed}")
            if self._train(run, arm, seed):
                raise SelfPlayError(f"{run.path} was interrupted")
        self._keep(run, arm, seed)

    def write(self, page: Path, seeds: Sequence[int]) -> None:
        """Put the table into the page, and charts beside it."""
        cells = {arm: read_cells(self._cell(arm, seed) for seed in seeds) for arm in ARMS}
        put_between(page, "laptop", table(cells))
        for name, (_, label) in CURVES.items():
            curves = [
                Curve(f"{arm}, seed {cell['seed']}", *zip(*cell["curves"][name], strict=True))
                for arm, found in cells.items()
                for cell in found
            ]
            if curves:
                (self._out / f"{name}.svg").write_text(svg(curves, "thousand games", label), encoding="utf-8")

    def _train(self, run: RunDir, arm: str, seed: int) -> int:
        resume = run.holds_run() and has_state(run)
        if not resume:
            shutil.rmtree(run.path, ignore_errors=True)  # what a training left that ended before it could save
        place = ["--checkpoint", str(run.path)]
        wanted = parse(["--resume", *place] if resume else [*command(arm, seed).split()[2:], *place])
        return train(wanted.config, resume=resume, explicit=wanted.explicit, preset=wanted.preset, stream=io.StringIO())

    def _keep(self, run: RunDir, arm: str, seed: int) -> None:
        summary: Mapping[str, Any] = run.read_summary()
        document = {
            "command": command(arm, seed),
            "arm": arm,
            "seed": seed,
            "date": datetime.now(UTC).date().isoformat(),
            **{name: summary[name] for name in KEPT if name in summary},
            "curves": _curves(run),
        }
        write_cell(self._cell(arm, seed), document)
        self._tell(f"{arm}, seed {seed}: reward {document['evaluation']['reward']:.3f}")

    def _cell(self, arm: str, seed: int) -> Path:
        return self._out / f"{arm}_{seed}.json"


def write_cell(cell: Path, document: Mapping[str, Any]) -> None:
    """Keep the figures of a finished cell."""
    write_file(cell, (json.dumps(document, indent=1) + "\n").encode())


def read_cells(cells: Iterable[Path]) -> list[dict[str, Any]]:
    """The figures of those that are finished."""
    return [json.loads(cell.read_text(encoding="utf-8")) for cell in cells if cell.exists()]


def command(arm: str, seed: int) -> str:
    """What a user would type."""
    return f"{COMMAND.format(seed=seed)} {ARMS[arm]}".strip()


def _curves(run: RunDir) -> dict[str, list[tuple[float, float]]]:
    """(thousand games, value), means of equal parts of the run."""
    rows = [json.loads(line) for line in run.metrics.read_text(encoding="utf-8").splitlines()]
    size = math.ceil(len(rows) / POINTS)
    parts = [rows[i : i + size] for i in range(0, len(rows), size)]
    return {
        name: [(part[-1]["charts/games"] / 1e3, round(fmean(row[tag] for row in part), 4)) for part in parts]
        for name, (tag, _) in CURVES.items()
    }


def table(cells: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """What was measured, in Markdown: the runs, and beside them everybody else on the same states."""
    lines = [
        "| player | seed | reward | agreed | where agreed | format errors | turns | gain over its start "
        "| where both agreed | minutes |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    found = [(arm, cell) for arm, those in cells.items() for cell in those]
    for arm, cell in found:
        minutes = (cell["elapsed_s"] + cell["teaching"]["seconds"]) / 60
        lines.append(f"| {arm} | {cell['seed']} | {_row(cell['evaluation'])} | {gains(cell)} | {minutes:.0f} |")
    seen = set()
    for _, cell in found:
        if cell["seed"] not in seen:
            seen.add(cell["seed"])
            lines.append(f"| supervised start | {cell['seed']} | {_row(cell['start'])} | | | |")
    if found:
        anchors = found[0][1]["anchors"]
        lines += [f"| `{name}` | | {_row(row)} | | | |" for name, row in anchors.items() if isinstance(row, dict)]
        lines += [
            f"| {name.removeprefix('known_')}, without playing | | {value:.3f} | | | | | | | |"
            for name, value in anchors.items()
            if isinstance(value, float)
        ]
    return "\n".join(lines)


def gains(cell: Mapping[str, Any]) -> str:
    """Over all states, and over those on which both agreed: two cells of a table."""
    found = (cell["paired_gain"], cell["paired_gain_agreed"])
    return " | ".join("" if each["gain"] is None else f"{each['gain']:+.3f} ± {each['interval']:.3f}" for each in found)


def reward(judged: Mapping[str, Any]) -> str:
    """The mean, and the half width of its interval."""
    return f"{judged['reward']:.3f} ± {judged['interval']:.3f}"


def _row(judged: Mapping[str, Any]) -> str:
    only = "" if judged["agreed_only"] is None else f"{judged['agreed_only']:.3f}"
    return (
        f"{reward(judged)} | {judged['agreement']:.1%} | {only} | {judged['format_errors']:.1%} | {judged['turns']:.1f}"
    )
