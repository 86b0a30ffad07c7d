"""Learning per minute: systems train in turn on one machine, and what each had learned by when is measured here.

A cell is a system and a seed. Finished cells are files; only those that are missing are made.
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
from selfplay.checkpoint import RunDir, list_generations, load_generation, save_policy
from selfplay.checkpoint.store import write_file
from selfplay.errors import ConfigError, boundary
from selfplay.peers.jobs import job_of, session_of, write_first_weights
from selfplay.peers.programs.job import as_argument
from selfplay.peers.running import OURS, Way, program
from selfplay.peers.turns import Entry, take_turns
from selfplay.peers.venvs import PEERS, ROOT, PeerError, environment, prepared
from selfplay.trainer.evaluation import evaluate
from selfplay.trainer.machine import processor, usable_cores
from selfplay.trainer.players import contender, home_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from selfplay.checkpoint import PolicyMeta

FOREVER: Final = 10**7  # iterations
TURN_S: Final = 60.0
PLAN: Final = "plan.json"  # beside the policies of a system: how it was trained
COMMAND: Final = (
    "--game-type mock --num-games {games} --rollout-length 128 --batch-size 8192 --ppo-epochs 4 --frame-skip 1 "
    "--hidden 128,128 --mode latest --timesteps 1000000000000 --save-interval 4 --seed {seed} "
    # standing still is no hang
    "--set run.collect_timeout=1000000"
)
"""Ours: the configuration of ``jobs``, as a person would type it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is raced, and for how long."""

    systems: tuple[str, ...]  # ours and peers
    ways: Mapping[str, Way]  # of the peers
    seeds: tuple[int, ...]
    minutes: float = 10.0
    games: int = 256
    evaluation_games: int = 200  # against each anchor

    @property
    def marks(self) -> list[float]:
        """Active minutes at which policies are kept: half of one, then every one."""
        whole = range(1, int(self.minutes) + 1)
        return sorted({min(0.5, self.minutes), *map(float, whole), self.minutes})


def ways_of(measured: Path, named: Sequence[str] | None, games: int = 256) -> dict[str, Way]:
    """The peers that race, and how each was fastest when both seats were measured: those named, or the two fastest.

    Raises:
        ConfigError: there is no such measurement of them, or of fewer than two.
    """
    with boundary(ConfigError, f"{measured} is no measurement of peers (bench_peers.py --write makes one)"):
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
        out: Folder of the finished cells, ``<system>-<seed>.json``.
        work: Folder of what systems leave while they train; what belongs to a cell goes when it is finished.
        venvs: Environments of the peers.
        say: Is told how it goes.
    """

    def __init__(self, plan: Plan, out: Path, work: Path, venvs: Path, say: Callable[[str], None]) -> None:
        self._plan, self._out, self._work, self._venvs, self._say = plan, out, work, venvs, say

    def run(self) -> None:
        """Make the cells that are missing. Blocks.

        Raises:
            PeerError: a system failed.
            ConfigError: a cell or a training that is there is of another plan.
        """
        self._out.mkdir(parents=True, exist_ok=True)
        self._refuse_others()
        for seed in self._plan.seeds:
            missing = [name for name in self._plan.systems if not self._cell(name, seed).exists()]
            untrained = [name for name in missing if not kept(self._folder(name, seed), self._plan.marks[-1]).exists()]
            if untrained:
                self._say(f"seed {seed}: {', '.join(untrained)}, {self._plan.minutes:g} minutes each")
                self._train(untrained, seed)
            for name in missing:
                self._finish(name, seed)

    def _cell(self, name: str, seed: int) -> Path:
        return self._out / f"{name}-{seed}.json"

    def _folder(self, name: str, seed: int) -> Path:
        return self._work / f"{name}-{seed}"

    def _refuse_others(self) -> None:
        """Look at all that is there before the first minute is spent."""
        plan = self._plan
        for name, seed in product(plan.systems, plan.seeds):
            cell, folder = self._cell(name, seed), self._folder(name, seed)
            if cell.exists():
                with boundary(ConfigError, f"{cell} is no cell of a race"):
                    there = json.loads(cell.read_text(encoding="utf-8"))
                    minutes = [point["minutes"] for point in there["points"]]
                    settings = [there["games"], there["evaluation_games"], minutes]
                if settings != [plan.games, plan.evaluation_games, plan.marks]:
                    raise ConfigError(f"{cell} was made with other --minutes, --evaluation-games or games")
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
                raise ConfigError(f"{folder} is there from a race that was not finished: move it away")
            folder.mkdir(parents=True)
            trained = {
                "games": self._plan.games, "minutes": self._plan.marks, "way": self._way(name),
                "release": release(name), "processor": processor(), "cores": usable_cores(),
            }  # fmt: skip
            write_file(folder / PLAN, json.dumps(trained).encode())
            metas[name] = write_first_weights(session_of(self._plan.games, seed), folder / "first.npz")
            entries.append(self._ours(folder, seed) if name == OURS else self._peer(name, folder, seed))

        def keep(name: str, seconds: float) -> None:
            self._say(f"seed {seed}: {name} at {seconds / 60:g} minutes")
            snapshot(self._folder(name, seed), name, seconds / 60, metas[name])

        take_turns(entries, self._work, turn=TURN_S, marks=[60 * mark for mark in self._plan.marks], at_mark=keep)

    def _ours(self, folder: Path, seed: int) -> Entry:
        words = COMMAND.format(games=self._plan.games, seed=seed).split()
        script = str(ROOT / "scripts" / "train_self_play.py")
        command = [sys.executable, script, *words, "--checkpoint", str(folder / "run")]
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
            self._say(f"{name}, seed {seed}, {minutes:g} minutes: {points[-1]['score']:.3f}")
        document: dict[str, Any] = {
            "system": name,
            "seed": seed,
            **json.loads((folder / PLAN).read_text(encoding="utf-8")),
            "evaluation_games": self._plan.evaluation_games,
            "points": points,
        }
        del document["minutes"]  # those of the points
        write_file(self._cell(name, seed), (json.dumps(document, indent=1) + "\n").encode())
        shutil.rmtree(folder)

    def _strength(self, policy: Path) -> dict[str, Any]:
        """Score against each scripted player, drawn from the policy, and their mean; the seeds are everybody's."""
        scores = {}
        for name in bots.LADDER:
            pair = (contender(str(policy)), contender(name))
            characters, rules = home_rules(pair)
            scores[name] = evaluate(*pair, self._plan.evaluation_games, characters, rules, seed=0).score
        return {"score": fmean(scores.values()), "scores": scores}


def release(name: str) -> str:
    """What exactly a system is: our version, or the packages of a peer."""
    return version(OURS) if name == OURS else " ".join(PEERS[name].packages)


def kept(folder: Path, minutes: float) -> Path:
    """Where the policy of a mark is."""
    return folder / f"at_{minutes:g}"


def snapshot(folder: Path, name: str, minutes: float, meta: PolicyMeta) -> None:
    """Keep what a system plays with now, while it stands still; before its first iteration, its first weights."""
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
