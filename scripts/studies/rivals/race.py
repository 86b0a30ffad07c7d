"""Race this project against other trainers: strength over minutes of training; writes docs/performance.md.

The systems take turns on the machine. Finished cells (system, seed) in docs/data/race.json are not made again; delete
an entry to repeat it.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.melee import bots
from scripts.studies import ROOT, TRAINER
from scripts.studies.cells import Cells
from scripts.studies.command_line import Command, exit_on_signals, tell_error
from scripts.studies.pages import measured_here, write_json
from scripts.studies.rivals.jobs import job_of, session_of, write_first_weights
from scripts.studies.rivals.programs.job import as_argument
from scripts.studies.rivals.race_page import read_cells, table, write
from scripts.studies.rivals.running import OURS, Way, program
from scripts.studies.rivals.turns import Entry, take_turns
from scripts.studies.rivals.venvs import PEERS, PeerError, chosen, default_folder, environment, prepared
from selfplay.checkpoint import RunDir, list_generations, load_generation, save_policy
from selfplay.commands.evaluation import evaluate
from selfplay.commands.players import contender, home_rules
from selfplay.errors import ConfigError, boundary

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from selfplay.checkpoint import PolicyMeta

FOREVER: Final = 10**7  # iterations
TURN_S: Final = 60.0
PLAN: Final = "plan.json"  # settings of a training, beside its policies
COMMAND: Final = (
    "--game-type mock --num-games {games} --rollout-length 128 --batch-size 8192 --ppo-epochs 4 --frame-skip 1 "
    "--hidden 128,128 --mode latest --timesteps 1000000000000 --save-interval 4 --seed {seed} "
    # a stopped trainer must not count as hanging
    "--set run.collect_timeout=1000000"
)
"""Arguments of our trainer: the configuration of ``jobs``."""


@dataclass(frozen=True, slots=True)
class RacePlan:
    """Systems, seeds and minutes of a race."""

    systems: tuple[str, ...]  # ours and peers
    ways: Mapping[str, Way]  # of the peers
    seeds: tuple[int, ...]
    minutes: float = 10.0
    games: int = 256
    evaluation_games: int = 200  # against each anchor

    @property
    def marks(self) -> list[float]:
        """Minutes of training after which policies are kept: a half, then every full one."""
        whole = range(1, int(self.minutes) + 1)
        return sorted({min(0.5, self.minutes), *map(float, whole), self.minutes})


def ways_of(measured: Path, named: Sequence[str] | None, games: int = 256) -> dict[str, Way]:
    """The fastest way of each peer that races, with both seats learning: those named, or the two fastest peers.

    Raises:
        ConfigError: there is no such measurement of them, or of fewer than two.
    """
    with boundary(ConfigError, f"{measured} is no measurement of peers; run scripts.studies.rivals.bench --write"):
        ran = {
            row["system"]: row
            for row in json.loads(measured.read_text(encoding="utf-8"))["rows"]
            if (row["seats"], row["games"], row["error"]) == (2, games, None) and row["system"] in PEERS
        }
        by_speed = sorted(ran, key=lambda name: -median(ran[name]["agent_steps_per_s"]))
        names = by_speed[:2] if named is None else named
        if named is None and len(names) < 2:
            raise ConfigError(f"{measured} has figures of {len(names)} peers at {games} games; the two fastest race")
        if unknown := [name for name in names if name not in ran]:
            raise ConfigError(f"{measured} has no figures of {unknown[0]} at {games} games")
        return {name: Way(ran[name]["threads"], ran[name]["variant"]) for name in names}


class Race:
    """Makes the cells of a plan.

    Args:
        plan: What is raced.
        out: File of the finished cells, ``<system>-<seed>``.
        work: Folder of the trainings; that of a cell is deleted when the cell is finished.
        venvs: Environments of the peers.
        notify: Prints progress.
    """

    def __init__(self, plan: RacePlan, out: Path, work: Path, venvs: Path, notify: Callable[[str], None]) -> None:
        self._plan, self._cells, self._work, self._venvs, self._notify = plan, Cells(out), work, venvs, notify

    def run(self) -> None:
        """Make the cells that are missing. Blocks.

        Raises:
            PeerError: a system failed.
            ConfigError: a cell or a training that is there is of another plan.
        """
        self._refuse_others()
        for seed in self._plan.seeds:
            missing = [name for name in self._plan.systems if f"{name}-{seed}" not in self._cells]
            untrained = [name for name in missing if not kept(self._folder(name, seed), self._plan.marks[-1]).exists()]
            if untrained:
                self._notify(f"seed {seed}: {', '.join(untrained)}, {self._plan.minutes:g} minutes each")
                self._train(untrained, seed)
            for name in missing:
                self._finish(name, seed)

    def _folder(self, name: str, seed: int) -> Path:
        return self._work / f"{name}-{seed}"

    def _refuse_others(self) -> None:
        """Check everything that exists before the first training."""
        plan = self._plan
        for name, seed in product(plan.systems, plan.seeds):
            where, folder = self._cells.where(f"{name}-{seed}"), self._folder(name, seed)
            if found := self._cells.read([f"{name}-{seed}"]):
                with boundary(ConfigError, f"{where}: no cell of a race"):
                    there = found[0]
                    minutes = [point["minutes"] for point in there["points"]]
                    settings = [there["games"], there["evaluation_games"], minutes]
                if settings != [plan.games, plan.evaluation_games, plan.marks]:
                    raise ConfigError(f"{where}: made with other --minutes, --evaluation-games or games")
            elif kept(folder, plan.marks[-1]).exists():
                with boundary(ConfigError, f"{folder} is no training of a race: move it away"):
                    there = json.loads((folder / PLAN).read_text(encoding="utf-8"))
                    settings = [there[field] for field in ("games", "minutes", "way", "release")]
                if settings != [plan.games, plan.marks, self._way(name), release(name)]:
                    raise ConfigError(f"{folder} was trained in another way: move it away")

    def _way(self, name: str) -> dict[str, Any] | None:
        return asdict(self._plan.ways[name]) if name in self._plan.ways else None

    def _train(self, names: Sequence[str], seed: int) -> None:
        entries, metas = [], {}
        for name in names:
            folder = self._folder(name, seed)
            if folder.exists():
                raise ConfigError(f"{folder} belongs to a race that was not finished: move it away")
            folder.mkdir(parents=True)
            trained = {
                "games": self._plan.games, "minutes": self._plan.marks, "way": self._way(name),
                "release": release(name), **measured_here(),
            }  # fmt: skip
            write_json(folder / PLAN, trained)
            metas[name] = write_first_weights(session_of(self._plan.games, seed), folder / "first.npz")
            entries.append(self._ours(folder, seed) if name == OURS else self._peer(name, folder, seed))

        def keep(name: str, seconds: float) -> None:
            self._notify(f"seed {seed}: {name} at {seconds / 60:g} minutes")
            snapshot(self._folder(name, seed), name, seconds / 60, metas[name])

        take_turns(entries, self._work, turn=TURN_S, marks=[60 * mark for mark in self._plan.marks], at_mark=keep)

    def _ours(self, folder: Path, seed: int) -> Entry:
        words = COMMAND.format(games=self._plan.games, seed=seed).split()
        command = [*TRAINER, *words, "--checkpoint", str(folder / "run")]
        return Entry(OURS, command, environment(None), folder / "log.txt")

    def _peer(self, name: str, folder: Path, seed: int) -> Entry:
        peer, way = PEERS[name], self._plan.ways[name]
        python = prepared(peer, self._venvs)
        job = job_of(
            session_of(self._plan.games, seed), folder / "first.npz", seats=2, threads=way.threads,
            iterations=FOREVER, variant=way.variant, latest=folder / "latest.npz",
        )  # fmt: skip
        command = [*program(peer, python), as_argument(job)]
        return Entry(name, command, environment(way.threads, python.parents[1]), folder / "log.txt")

    def _finish(self, name: str, seed: int) -> None:
        folder, points = self._folder(name, seed), []
        for minutes in self._plan.marks:
            points.append({"minutes": minutes, **self._strength(kept(folder, minutes))})
            self._notify(f"{name}, seed {seed}, {minutes:g} minutes: {points[-1]['score']:.3f}")
        document: dict[str, Any] = {
            "system": name,
            "seed": seed,
            **json.loads((folder / PLAN).read_text(encoding="utf-8")),
            "evaluation_games": self._plan.evaluation_games,
            "points": points,
        }
        del document["minutes"]  # each point has its own
        self._cells.write(f"{name}-{seed}", document)
        shutil.rmtree(folder)

    def _strength(self, policy: Path) -> dict[str, Any]:
        """Score against each scripted player, and their mean; all systems play the same seeds."""
        scores = {}
        for name in bots.LADDER:
            pair = (contender(str(policy)), contender(name))
            characters, rules = home_rules(pair)
            scores[name] = evaluate(*pair, self._plan.evaluation_games, characters, rules, seed=0).score
        return {"score": fmean(scores.values()), "scores": scores}


def release(name: str) -> str:
    """Version of a system: ours, or the packages of a peer."""
    return version(OURS) if name == OURS else " ".join(PEERS[name].packages)


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
    command.add_argument("--minutes", type=float, default=10.0, metavar="F", help="each (default: %(default)s)")
    command.add_seeds()
    command.add_argument("--peers", metavar="NAME,NAME", help="(default: the two fastest of docs/data/peers.json)")
    command.add_argument(
        "--evaluation-games", type=int, default=200, metavar="N", help="an anchor (default: %(default)s)"
    )
    command.add_argument("--out", type=Path, default=ROOT / "docs" / "data" / "race.json", metavar="FILE", help="cells")
    command.add_argument("--work", type=Path, default=ROOT / "checkpoints" / "race", metavar="DIR", help="the runs")
    command.add_argument("--venvs", type=Path, default=default_folder(), metavar="DIR", help="environments of peers")
    command.add_argument("--write", action="store_true", help="put curves and table into docs/")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    if not options.minutes > 0 or options.evaluation_games < 2:
        raise ConfigError("--minutes must be above 0, and --evaluation-games at least 2")
    exit_on_signals()  # ends the running trainers with this process
    named = None if options.peers is None else [peer.name for peer in chosen(options.peers)]
    ways = ways_of(ROOT / "docs" / "data" / "peers.json", named)
    plan = RacePlan((OURS, *ways), ways, options.seeds, options.minutes, evaluation_games=options.evaluation_games)
    out = options.out.absolute()
    Race(plan, out, options.work.absolute(), options.venvs.absolute(), tell_error).run()
    print(table(read_cells(out)))
    if options.write:
        write(ROOT / "docs")


if __name__ == "__main__":
    sys.exit(main())
