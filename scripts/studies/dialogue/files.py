"""Training from files in the laptop preset's dialogue game: rounds of the shell script, judged on held-out states."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch

from scripts.studies.cells import Cell, Cells
from scripts.studies.dialogue.exchange import gains, reward
from scripts.studies.pages import measured_here, put_between
from scripts.studies.pages import table as markdown
from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.commands.dialogue_files.training import CHECKPOINT
from selfplay.config.dialogue_rules import game_of
from selfplay.errors import SelfPlayError
from selfplay.machine import usable_cores
from selfplay.train.dialogue.evaluation import compare, evaluate_model, held_out
from selfplay.train.dialogue.players import open_model, reopen, sampling_of

if TYPE_CHECKING:
    from selfplay.config.dialogue import DialogueConfig
    from selfplay.train.dialogue.evaluation import PlayerResults

SCRIPT: Final = "run_selfplay_iteration.sh"
VARIABLES: Final[Mapping[str, str]] = {"NUM_ITERATIONS": "3", "GAMES_PER_ITER": "2048"}


class FilesStudy:
    """A study of trainings from files; its cells are ``files_<seed>``.

    Args:
        scripts: Where the shell script is.
        runs: ``files-<seed>`` are the data folders.
        out: File of the figures, without ``.json``.
        notify: Prints progress.
    """

    def __init__(self, scripts: Path, runs: Path, out: Path, notify: Callable[[str], object]) -> None:
        self._scripts, self._runs, self._notify = scripts, runs, notify
        self._cells = Cells(out.with_suffix(".json"))

    def train(self, config: DialogueConfig) -> None:
        """Train from the start of the configuration's run and write the figures, unless finished. Blocks.

        Raises:
            SelfPlayError: the script failed.
        """
        self._cells.make(f"files_{config.run.seed}", lambda: self._measure(config))

    def write(self, page: Path, seeds: Sequence[int]) -> None:
        """Put the table into the page."""
        put_between(page, "files", table(self._cells.read(f"files_{seed}" for seed in seeds)))

    def _measure(self, config: DialogueConfig) -> Cell:
        seed = config.run.seed
        _, base = open_model(config, "cpu", usable_cores(), self._notify, CHECKPOINTS)
        data = self._runs / f"files-{seed}"
        self._notify(f"training from files, seed {seed}")
        began = time.monotonic()
        wanted = {**VARIABLES, "SEED": str(seed)}
        where = {"INITIAL_MODEL": str(Path(base).resolve()), "DATA_DIR": str(data.resolve()), "PYTHON": sys.executable}
        code = subprocess.run([self._scripts / SCRIPT], env={**os.environ, **wanted, **where}, check=False).returncode
        if code:
            raise SelfPlayError(f"{SCRIPT} ended with {code}; {data} is kept and resumed the next time")
        seconds = time.monotonic() - began
        rounds = data / f"{config.game.type}_game_selfplay_iterations"
        folders = [rounds / f"iter_{i + 1}" / CHECKPOINT for i in range(int(VARIABLES["NUM_ITERATIONS"]))]
        torch.set_num_threads(usable_cores())
        start, *trained = (_judge(config, folder) for folder in (Path(base), *folders))
        gain = compare(trained[-1], start)
        self._notify(f"from files, seed {seed}: gain {gain['paired_gain']}")
        return {
            "command": " ".join(f"{name}={value}" for name, value in VARIABLES.items())
            + f" SEED={seed} INITIAL_MODEL=<the laptop preset's start> scripts/{SCRIPT}",
            "seed": seed,
            **measured_here(),
            "elapsed_s": round(seconds, 1),
            "iterations": [judged.document for judged in trained],
            **gain,
        }


def _judge(config: DialogueConfig, folder: Path) -> PlayerResults:
    entry, rules = game_of(config)
    seeds = held_out(config.run.evaluation_states)
    return evaluate_model(entry, rules, reopen(config, str(folder), "cpu"), sampling_of(config), seeds)


def table(cells: Sequence[Cell]) -> str:
    """Rewards of each iteration and gains over the start, in Markdown."""
    rounds = range(int(VARIABLES["NUM_ITERATIONS"]))
    head = ["seed", "start", *(f"iteration {i + 1}" for i in rounds), "agreed", "gain", "where both agreed", "minutes"]
    rows = []
    for cell in cells:
        rewards = [reward(judged) for judged in (cell["start"], *cell["iterations"])]
        agreed, minutes = f"{cell['evaluation']['agreement']:.1%}", f"{cell['elapsed_s'] / 60:.0f}"
        rows.append((cell["seed"], *rewards, agreed, gains(cell), minutes))
    return markdown(head, rows)
