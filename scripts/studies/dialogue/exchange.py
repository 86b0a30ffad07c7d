"""Self-play in the laptop preset's dialogue game, over seeds and advantages: its cells, table and charts."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from scripts.studies.cells import Cell, Cells, read_curves, write_chart
from scripts.studies.pages import measured_here, put_between
from selfplay.checkpoint import RunDir, has_state
from selfplay.config.dialogue_cli import parse
from selfplay.errors import SelfPlayError
from selfplay.train.dialogue.app import train

COMMAND: Final = "python scripts/train_self_play.py --game-type matching --preset laptop --seed {seed}"
ARMS: Final[Mapping[str, str]] = {"dr_grpo": "", "grpo": "--advantage grpo"}
"""Flags beside the preset's, by name."""
CURVES: Final = {
    "reward": ("play/reward", "reward of the games played"),
    "turns": ("play/turns", "turns of a game"),
    "entropy": ("losses/entropy", "entropy, nats a token"),
}
KEPT: Final = (
    "iteration", "games", "total_steps", "elapsed_s", "processor", "cores", "evaluation", "start", "paired_gain",
    "paired_gain_agreed", "anchors", "teaching",
)  # fmt: skip


class DialogueStudy:
    """A study of runs ``<arm>-<seed>``; their cells are ``<arm>_<seed>``.

    Args:
        runs: Where the runs go.
        out: Folder of the charts; beside it, with ``.json``, is the file of the figures.
        notify: Prints progress.
    """

    def __init__(self, runs: Path, out: Path, notify: Callable[[str], object]) -> None:
        self._runs, self._out, self._notify = runs, out, notify
        self._cells = Cells(out.with_suffix(".json"))

    def train(self, arm: str, seed: int) -> None:
        """Train a run and write its figures, unless finished. Blocks.

        Raises:
            SelfPlayError: the training was interrupted.
        """

        def measure() -> Cell:
            run = RunDir(self._runs / f"{arm}-{seed}")
            if not (run.summary_json.exists() and run.read_summary()["finished"]):
                self._notify(f"training {arm}, seed {seed}")
                if _train(run, arm, seed):
                    raise SelfPlayError(f"{run.path} was interrupted")
            summary: Mapping[str, Any] = run.read_summary()
            self._notify(f"{arm}, seed {seed}: reward {summary['evaluation']['reward']:.3f}")
            return {
                "command": command(arm, seed),
                "arm": arm,
                "seed": seed,
                **measured_here(),
                **{name: summary[name] for name in KEPT if name in summary},
                "curves": read_curves(run, {name: tag for name, (tag, _) in CURVES.items()}, "charts/games", 1e3, 4),
            }

        self._cells.make(f"{arm}_{seed}", measure)

    def write(self, page: Path, seeds: Sequence[int]) -> None:
        """Put the table into the page, and draw the charts."""
        cells = {arm: self._cells.read(f"{arm}_{seed}" for seed in seeds) for arm in ARMS}
        put_between(page, "laptop", table(cells))
        for name, (_, label) in CURVES.items():
            curves = [(arm, cell["curves"][name]) for arm in ARMS for cell in cells[arm]]
            write_chart(self._out / f"{name}.svg", curves, "thousand games", label)


def _train(run: RunDir, arm: str, seed: int) -> int:
    resume = run.holds_run() and has_state(run)
    if not resume:
        shutil.rmtree(run.path, ignore_errors=True)  # of a training that was interrupted before its first save
    place = ["--checkpoint", str(run.path)]
    wanted = parse(["--resume", *place] if resume else [*command(arm, seed).split()[2:], *place])
    return train(wanted.config, resume=resume, explicit=wanted.explicit, preset=wanted.preset, stream=io.StringIO())


def command(arm: str, seed: int) -> str:
    """The command that trains an arm and seed."""
    return f"{COMMAND.format(seed=seed)} {ARMS[arm]}".strip()


def table(cells: Mapping[str, Sequence[Cell]]) -> str:
    """The runs, their supervised starts and the anchors on the same held-out states, in Markdown."""
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
    """Gains over all states, and over those on which both runs agreed: two cells of a table."""
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
