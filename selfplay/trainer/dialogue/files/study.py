"""Does training from files learn: the laptop's start, three rounds of the shell script, and the same held-out states.

An iteration of a training is a folder, the figures of a seed are a JSON file; only what is missing is made.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from selfplay.checkpoint.run_dir import CHECKPOINTS
from selfplay.errors import SelfPlayError
from selfplay.trainer.dialogue.evaluation import compare, held_out, judge_model
from selfplay.trainer.dialogue.files.training import CHECKPOINT
from selfplay.trainer.dialogue.players import game_of, open_model, reopen, sampling_of
from selfplay.trainer.dialogue.study import gains, read_cells, reward, write_cell
from selfplay.trainer.machine import processor, usable_cores
from selfplay.trainer.pages import put_between

if TYPE_CHECKING:
    from selfplay.trainer.dialogue.config import LanguageConfig
    from selfplay.trainer.dialogue.evaluation import Judged

SCRIPT: Final = "run_selfplay_iteration.sh"
VARIABLES: Final[Mapping[str, str]] = {"NUM_ITERATIONS": "3", "GAMES_PER_ITER": "2048"}


class FilesStudy:
    """A study of trainings from files.

    Args:
        scripts: Where the shell script is.
        runs: ``files-<seed>`` are the data folders.
        out: Where the figures go.
        tell: Is told how it goes.
    """

    def __init__(self, scripts: Path, runs: Path, out: Path, tell: Callable[[str], object]) -> None:
        self._scripts, self._runs, self._out, self._tell = scripts, runs, out, tell

    def train(self, config: LanguageConfig) -> None:
        """Train from the start that the configuration's run begins with, and keep the figures. Blocks.

        Raises:
            SelfPlayError: the script failed.
        """
        seed = config.run.seed
        if self._cell(seed).exists():
            return
        _, base = open_model(config, "cpu", usable_cores(), self._tell, CHECKPOINTS)
        data = self._runs / f"files-{seed}"
        self._tell(f"training from files, seed {seed}")
        began = time.monotonic()
        wanted = {**VARIABLES, "SEED": str(seed)}
        where = {"INITIAL_MODEL": str(Path(base).resolve()), "DATA_DIR": str(data.resolve()), "PYTHON": sys.executable}
        code = subprocess.run([self._scripts / SCRIPT], env={**os.environ, **wanted, **where}, check=False).returncode
        if code:
            raise SelfPlayError(f"{SCRIPT} ended with {code}; {data} is kept, and gone on with the next time")
        seconds = time.monotonic() - began
        self._keep(config, Path(base), data, seconds)

    def write(self, page: Path, seeds: Sequence[int]) -> None:
        """Put the table into the page."""
        put_between(page, "files", table(read_cells(self._cell(seed) for seed in seeds)))

    def _keep(self, config: LanguageConfig, base: Path, data: Path, seconds: float) -> None:
        rounds = data / f"{config.game.type}_game_selfplay_iterations"
        folders = [rounds / f"iter_{i + 1}" / CHECKPOINT for i in range(int(VARIABLES["NUM_ITERATIONS"]))]
        torch.set_num_threads(usable_cores())
        start, *trained = (self._judge(config, folder) for folder in (base, *folders))
        document = {
            "command": " ".join(f"{name}={value}" for name, value in VARIABLES.items())
            + f" SEED={config.run.seed} INITIAL_MODEL=<the laptop preset's start> scripts/{SCRIPT}",
            "seed": config.run.seed,
            "date": datetime.now(UTC).date().isoformat(),
            "processor": processor(),
            "cores": usable_cores(),
            "elapsed_s": round(seconds, 1),
            "iterations": [judged.document for judged in trained],
            **compare(trained[-1], start),
        }
        write_cell(self._cell(config.run.seed), document)
        self._tell(f"from files, seed {config.run.seed}: gain {document['paired_gain']}")

    def _judge(self, config: LanguageConfig, folder: Path) -> Judged:
        entry, rules = game_of(config)
        seeds = held_out(config.run.evaluation_states)
        return judge_model(entry, rules, reopen(config, str(folder), "cpu"), sampling_of(config), seeds)

    def _cell(self, seed: int) -> Path:
        return self._out / f"files_{seed}.json"


def table(cells: Sequence[Mapping[str, Any]]) -> str:
    """What was measured, in Markdown."""
    rounds = range(int(VARIABLES["NUM_ITERATIONS"]))
    head = ["seed", "start", *(f"iteration {i + 1}" for i in rounds), "agreed", "gain", "where both agreed", "minutes"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for cell in cells:
        rewards = [reward(judged) for judged in (cell["start"], *cell["iterations"])]
        row = [str(cell["seed"]), *rewards, f"{cell['evaluation']['agreement']:.1%}", gains(cell)]
        lines.append(f"| {' | '.join(row)} | {cell['elapsed_s'] / 60:.0f} |")
    return "\n".join(lines)
