"""Measure how far from equilibrium trainings come, on games that are solved exactly, with equal processor time.

A finished cell, which is a training of one game with one method and one seed, is kept in docs/data/equilibrium and not
measured again.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.studies.command_line import Command, chosen, exit_on_signals, notify
from scripts.studies.equilibrium import page
from scripts.studies.equilibrium.cells import FOLDER, Cell, Key, read_cells, write_cell
from scripts.studies.equilibrium.names import GAMES, METHODS
from scripts.studies.pages import machine_here
from scripts.studies.rivals.running import Program
from scripts.studies.rivals.venvs import Peer, PeerError, default_folder, environment, last_error, prepared
from selfplay.errors import ConfigError, boundary

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    Words = Callable[[Key], list[str]]

NEEDED: Final = {"pyspiel": "open_spiel==2.0.2", "tree": "dm-tree"}  # by module
RNAD: Final = Peer(  # the newest JAX whose ``clip`` takes what it is given
    "rnad",
    "",
    (
        "open_spiel==1.5", "jax==0.4.26", "jaxlib==0.4.26", "numpy==1.26.4", "scipy==1.12.0", "dm-haiku==0.0.12",
        "optax==0.2.2", "chex==0.1.86",
    ),
)  # fmt: skip
POLL_S: Final = 0.2
SLOWEST: Final = 20  # wall time may be so many times the processor time, on a busy machine
REST_S: Final = 60.0  # processor time of what is not counted
FIXED: Final = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "PYTHONHASHSEED": "0",
}


def main() -> int:
    """Run the command; the exit code."""
    command = Command("equilibrium", __doc__)
    command.add_argument("--games", nargs="+", default=[*GAMES], metavar="NAME", help="(default: all)")
    command.add_argument("--methods", nargs="+", default=[*METHODS], metavar="NAME", help="(default: all)")
    command.add_argument("--seeds", nargs="+", type=_natural, default=[0, 1, 2], metavar="N", help="(default: 0 1 2)")
    command.add_argument(
        "--minutes", type=float, default=10.0, metavar="F", help="of processor time, each cell (default: %(default)s)"
    )
    command.add_argument("--jobs", type=_natural, default=1, metavar="N", help="cells at once (default: %(default)s)")
    command.add_argument("--folder", type=Path, default=FOLDER, metavar="DIR", help="of the cells")
    command.add_argument("--venvs", type=Path, default=default_folder(), metavar="DIR", help="environment of R-NaD")
    command.add_argument("--plan", action="store_true", help="only say what would be measured, and for how long")
    command.add_argument(
        "--page", action="store_true", help="only write docs/trainer/internals/truth.md from the cells"
    )
    return command.execute(_run)


def _natural(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def _run(options: argparse.Namespace) -> int:
    finished = read_cells(options.folder)  # refuses damaged ones before any work
    if options.page:
        page.write(finished)
        return 0
    keys = _keys(options)
    missing = [key for key in keys if not (options.folder / key.file).exists()]
    notify(plan(len(keys), len(missing), options.minutes, options.jobs))
    if options.plan or not missing:
        return 0
    exit_on_signals()  # ends the trainings with this process
    return measure(missing, _commands(missing, options.venvs), options.folder, options.jobs)


def _keys(options: argparse.Namespace) -> list[Key]:
    """The cells that are asked for.

    Raises:
        ConfigError: something is not valid.
    """
    games, methods = chosen("--games", options.games, GAMES), chosen("--methods", options.methods, METHODS)
    if not 0 < options.minutes < float("inf"):
        raise ConfigError(f"--minutes is {options.minutes:g}; valid: above 0")
    if options.jobs < 1:
        raise ConfigError(f"--jobs is {options.jobs}; valid: 1 or more")
    seeds = sorted(set(options.seeds))
    return [Key(game, method, seed, options.minutes) for game, seed, method in product(games, seeds, methods)]


def plan(cells: int, missing: int, minutes: float, jobs: int) -> str:
    """How much is to be measured."""
    total = missing * minutes
    return (
        f"{cells} cells, {missing} to measure: {total:g} processor minutes, about {total / jobs:g} minutes with "
        f"{jobs} at once, and the time of measuring NashConv"
    )


def _commands(keys: Sequence[Key], venvs: Path) -> Words:
    """The command of each cell, for which packages are installed.

    Raises:
        ConfigError: packages are missing.
    """
    absent = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if absent and any(key.method != "rnad" for key in keys):
        raise ConfigError(f"not installed: {sys.executable} -m pip install {' '.join(absent)}")
    try:
        rnad = prepared(RNAD, venvs.absolute()) if any(key.method == "rnad" for key in keys) else None
    except PeerError as error:
        raise ConfigError(f"R-NaD does not install (leave it out with --methods): {error}") from error

    def words(key: Key) -> list[str]:
        python = str(rnad) if key.method == "rnad" else sys.executable
        return [python, "-m", "scripts.studies.equilibrium.worker", *map(str, key)]

    return words


def measure(keys: Sequence[Key], words: Words, folder: Path, jobs: int) -> int:
    """Measure cells, some at once, and write each as soon as it is finished; the exit code, 1 if one failed."""
    waiting, running, failed = [*reversed(keys)], dict[Key, Program](), 0
    ends: dict[Key, float] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                key = waiting.pop()
                running[key] = Program(words(key), {**environment(1), **FIXED})
                ends[key] = time.monotonic() + SLOWEST * (60 * key.minutes + REST_S)
            for key in [each for each in running if running[each].ended or time.monotonic() > ends[each]]:
                failed += not _finish(key, running.pop(key), folder)
            time.sleep(POLL_S)
    finally:
        for program in running.values():
            program.close()
    return 1 if failed else 0


def _finish(key: Key, program: Program, folder: Path) -> bool:
    late = not program.ended
    code, out, err = program.close()
    try:
        if code:
            raise PeerError("it took too long and was ended" if late else last_error(out + err))
        cell = cell_of(key, out)
    except PeerError as error:
        notify(f"{key.file}: {error}")
        return False
    write_cell(folder, cell)
    end = cell.points[-1]
    figures = [f"{name} {value:.4g}" for name in ("last", "average") if (value := getattr(end, name)) is not None]
    notify(f"{key.file}: NashConv {', '.join(figures)} after {end.steps:,} steps")
    return True


def cell_of(key: Key, printed: str) -> Cell:
    """The cell from what its process has printed.

    Raises:
        PeerError: the last line is no answer.
    """
    with boundary(PeerError, "the last line of its process is no answer"):
        answer: dict[str, Any] = json.loads(printed.strip().splitlines()[-1])
        return Cell(**key._asdict(), **answer, **machine_here(), command=_command(key))


def _command(key: Key) -> str:
    words = ("--games", key.game, "--methods", key.method, "--seeds", key.seed, "--minutes", f"{key.minutes:g}")
    return shlex.join(["python", "-m", "scripts.studies.equilibrium", *map(str, words)])


if __name__ == "__main__":
    sys.exit(main())
