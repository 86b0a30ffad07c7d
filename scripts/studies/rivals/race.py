"""Race this project against the two fastest trainers: strength over minutes of training; writes docs/performance.md.

The systems take turns on the machine. Finished cells (system, seed) in docs/data/race.json are not made again; delete
an entry to repeat it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.distribution import version
from envs.melee import bots
from scripts.studies import ROOT, TRAINER
from scripts.studies.cells import Cells
from scripts.studies.command_line import Command, exit_on_signals, tell_error
from scripts.studies.pages import measured_here
from scripts.studies.rivals.jobs import job_of, session_of, write_first_weights
from scripts.studies.rivals.programs.job import as_argument
from scripts.studies.rivals.race_page import read_cells, table, write
from scripts.studies.rivals.running import OURS, Way, program
from scripts.studies.rivals.turns import Entry, take_turns
from scripts.studies.rivals.venvs import PEERS, PeerError, default_folder, environment, prepared
from selfplay.checkpoint import RunDir, list_generations, load_generation, save_policy
from selfplay.commands.evaluation import evaluate
from selfplay.commands.players import contender, home_rules
from selfplay.errors import boundary

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from scripts.studies.cells import Cell
    from selfplay.checkpoint import PolicyMeta

RACERS: Final = ("cleanrl", "stable-baselines3")  # the two fastest peers; their programs write their weights
GAMES: Final = 256
EVALUATION_GAMES: Final = 200  # against each scripted player
MARKS: Final = (0.5, *map(float, range(1, 11)))  # minutes of training after which policies are kept
FOREVER: Final = 10**7  # iterations
TURN_S: Final = 60.0
COMMAND: Final = (
    "--game-type mock --num-games {games} --rollout-length 128 --batch-size 8192 --ppo-epochs 4 --frame-skip 1 "
    "--hidden 128,128 --mode latest --timesteps 1000000000000 --save-interval 4 --seed {seed} "
    # a stopped trainer must not count as hanging
    "--set run.collect_timeout=1000000"
)
"""Arguments of our trainer: the configuration of ``jobs``."""


def way_of(name: str, measured: Path) -> Way:
    """The fastest way of a peer with both seats learning, out of the figures of ``rivals.bench``."""
    rows = json.loads(measured.read_text(encoding="utf-8"))["rows"]
    (row,) = (row for row in rows if (row["system"], row["seats"], row["games"]) == (name, 2, GAMES))
    return Way(row["threads"], row["variant"])


class Race:
    """Makes the cells ``<system>-<seed>``.

    Args:
        cells: Those that are finished.
        ways: Of the peers.
        venvs: Environments of the peers.
        notify: Prints progress.
    """

    def __init__(self, cells: Cells, ways: dict[str, Way], venvs: Path, notify: Callable[[str], None]) -> None:
        self._cells, self._ways, self._venvs, self._notify = cells, ways, venvs, notify

    def run(self, seed: int) -> None:
        """Train the systems whose cells of a seed are missing, and measure them. Blocks.

        Raises:
            PeerError: a system failed.
        """
        names = [name for name in (OURS, *self._ways) if f"{name}-{seed}" not in self._cells]
        if not names:
            return
        self._notify(f"seed {seed}: {', '.join(names)}, {MARKS[-1]:g} minutes each")
        with tempfile.TemporaryDirectory() as work:
            self._train(names, seed, Path(work))
            for name in names:
                self._cells.write(f"{name}-{seed}", self._measure(name, seed, Path(work) / name))

    def _train(self, names: Sequence[str], seed: int, work: Path) -> None:
        entries, metas = [], {}
        for name in names:
            folder = work / name
            folder.mkdir()
            metas[name] = write_first_weights(session_of(GAMES, seed), folder / "first.npz")
            entries.append(ours(folder, seed) if name == OURS else self._peer(name, folder, seed))

        def keep(name: str, seconds: float) -> None:
            self._notify(f"seed {seed}: {name} at {seconds / 60:g} minutes")
            snapshot(work / name, name, seconds / 60, metas[name])

        take_turns(entries, work, turn=TURN_S, marks=[60 * mark for mark in MARKS], at_mark=keep)

    def _peer(self, name: str, folder: Path, seed: int) -> Entry:
        peer, way = PEERS[name], self._ways[name]
        python = prepared(peer, self._venvs)
        job = job_of(
            session_of(GAMES, seed), folder / "first.npz", seats=2, threads=way.threads, iterations=FOREVER,
            variant=way.variant, latest=folder / "latest.npz",
        )  # fmt: skip
        command = [*program(peer, python), as_argument(job)]
        return Entry(name, command, environment(way.threads, python.parents[1]), folder / "log.txt")

    def _measure(self, name: str, seed: int, folder: Path) -> Cell:
        points = []
        for minutes in MARKS:
            points.append({"minutes": minutes, **strength(kept(folder, minutes))})
            self._notify(f"{name}, seed {seed}, {minutes:g} minutes: {points[-1]['score']:.3f}")
        return {
            "system": name,
            "seed": seed,
            "games": GAMES,
            "evaluation_games": EVALUATION_GAMES,
            "way": asdict(self._ways[name]) if name in self._ways else None,
            "release": version() if name == OURS else " ".join(PEERS[name].packages),
            **measured_here(),
            "points": points,
        }


def ours(folder: Path, seed: int) -> Entry:
    """Our trainer."""
    command = [*TRAINER, *COMMAND.format(games=GAMES, seed=seed).split(), "--checkpoint", str(folder / "run")]
    return Entry(OURS, command, environment(None), folder / "log.txt")


def strength(policy: Path) -> dict[str, Any]:
    """Score against each scripted player, and their mean; all systems play the same seeds."""
    scores = {}
    for name in bots.LADDER:
        pair = (contender(str(policy)), contender(name))
        characters, rules = home_rules(pair)
        scores[name] = evaluate(*pair, EVALUATION_GAMES, characters, rules, seed=0).score
    return {"score": fmean(scores.values()), "scores": scores}


def kept(folder: Path, minutes: float) -> Path:
    """Folder of the policy of a mark."""
    return folder / f"at_{minutes:g}"


def snapshot(folder: Path, name: str, minutes: float, meta: PolicyMeta) -> None:
    """Save the policy of a stopped system; before its first iteration, its first weights."""
    generations = list_generations(RunDir(folder / "run"))
    if generations:
        _, params = load_generation(generations[-1].path)
    else:
        latest = folder / "latest.npz"
        with (
            boundary(PeerError, f"{name} left no weights that can be read"),
            np.load(latest if latest.exists() else folder / "first.npz", allow_pickle=False) as file,
        ):
            params = {key: file[key] for key in file.files}
    save_policy(kept(folder, minutes), meta.model_copy(update={"id": f"{name}-{minutes:g}"}), params)


def main() -> int:
    """Run the command; the exit code."""
    command = Command("rivals.race", __doc__)
    command.add_seeds()
    command.add_argument("--venvs", type=Path, default=default_folder(), metavar="DIR", help="environments of peers")
    command.add_argument("--write", action="store_true", help="put curves and table into docs/")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    exit_on_signals()  # ends the running trainers with this process
    data = ROOT / "docs" / "data"
    ways = {name: way_of(name, data / "peers.json") for name in RACERS}
    race = Race(Cells(data / "race.json"), ways, options.venvs.absolute(), tell_error)
    for seed in options.seeds:
        race.run(seed)
    print(table(read_cells(data / "race.json")))
    if options.write:
        write(ROOT / "docs")


if __name__ == "__main__":
    sys.exit(main())
