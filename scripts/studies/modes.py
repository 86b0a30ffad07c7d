"""Compare the modes of choosing opponents on one budget; writes docs/learning.md.

Runs of each mode play each other and the scripted players, and exploiters are trained against them. What is finished is
not repeated: runs in --runs, the games and exploiters in docs/data/modes/.
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from envs.melee import bots
from scripts.studies import ROOT
from scripts.studies.cells import PRESET, Cell, Cells, train_if_missing
from scripts.studies.command_line import Command, chosen, tell
from scripts.studies.intervals import half95, t95
from scripts.studies.pages import interval, put_between, table
from selfplay.checkpoint import RunDir
from selfplay.commands.exploit import exploit
from selfplay.commands.rate import BATCH
from selfplay.config.fighting_cli import parse
from selfplay.league.anchors import find_table
from selfplay.league.external_games import read_csv
from selfplay.league.modes import MODES as SHARES
from selfplay.league.ratings import rate
from selfplay.league.records import FINISHED, MatchRecord, score
from selfplay.league.schedule import Matchup
from selfplay.policy.policy import load_policy
from selfplay.runner.match import Contender
from selfplay.seeding import derive
from selfplay.train.fighting.rating import play_matchups, settings_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from selfplay.league.games import Floats
    from selfplay.league.ratings import Ratings

GAMES_FILE: Final = "games.csv"
FIELDS: Final = ("first", "second", "score", "pair", "finished")
MODES: Final = "latest,simple_mix,delta_uniform,pfsp,league"
PARTS: Final = ("train", "games", "exploit", "search", "page")


def run_name(mode: str, seed: int) -> str:
    """Name of the run of a mode and a seed."""
    return f"{mode}-{seed}"


class ModeStudy:
    """The runs of a study in one folder, its games and exploiters in another.

    Args:
        runs: ``<mode>/seed_<seed>`` are the runs.
        out: Folder of ``games.csv`` and of a cell for each exploited run.
        steps: Timesteps of each training.
        tell: Prints progress.
        options: More arguments of each training.
    """

    def __init__(
        self, runs: Path, out: Path, steps: int, tell: Callable[[str], None], options: Sequence[str] = ()
    ) -> None:
        self._runs, self._out, self._tell = runs, out, tell
        self._cells = Cells(out)
        self._arguments = (*PRESET, "--timesteps", str(steps), *options)
        out.mkdir(parents=True, exist_ok=True)

    def train(self, mode: str, seed: int) -> None:
        """Train a run unless it is finished. Blocks."""
        run = RunDir(self._runs / mode / f"seed_{seed}")
        train_if_missing(run, [*self._arguments, "--mode", mode, "--seed", str(seed)], self._tell)

    def meet(self, names: Sequence[str], games: int, scripted: int) -> None:
        """Play games of every two runs, and ``scripted`` ones of every run and scripted player, once. Blocks."""
        self._play(itertools.combinations(sorted(names), 2), games)
        self._play(itertools.product(sorted(names), bots.LADDER), scripted)

    def _play(self, pairs: Iterable[tuple[str, str]], games: int) -> None:
        played = {frozenset((row["first"], row["second"])) for row in self._games()}
        missing = [pair for pair in pairs if frozenset(pair) not in played]
        if not missing:
            return
        settings = settings_of(parse(self._arguments).config)
        contenders = {name: self._contender(name) for name in sorted({name for pair in missing for name in pair})}
        each = games // settings.games_each
        batch = max(1, BATCH // games)  # whole pairs, so that the games of a pair in the file are always complete
        for start in range(0, len(missing), batch):
            part = missing[start : start + batch]
            matchups = [Matchup((a, b), seed=derive(0, "modes", a, b, i)) for i in range(each) for a, b in part]
            rows = [
                (r.seats[0].player, r.seats[1].player, score(r, "stocks_percent"), r.seed, int(r.ended == FINISHED))
                for r in play_matchups(matchups, contenders, settings, 0)
                if isinstance(r, MatchRecord)
            ]
            _append(self._out / GAMES_FILE, rows)
            self._tell(f"{start + len(part)} of {len(missing)} pairs have played")

    def exploit(self, name: str, steps: int, starts: Sequence[str], seeds: Sequence[int], games: int) -> None:
        """Train exploiters of a run unless finished. Blocks."""

        def measure() -> Cell:
            self._tell(f"exploiting {name} from {', '.join(starts)}, seeds {seeds}")
            folder = self._runs / "exploiters" / name
            cell = asdict(exploit(self._folder(name), steps, folder, starts, seeds, games, self._tell))
            for attempt in (cell["best"], *cell["attempts"]):
                attempt["path"] = Path(attempt["path"]).name  # no folders of this machine
            return cell | {"victim": name}

        self._cells.make(_exploit_cell(name, starts, seeds), measure, {"steps": steps, "games": 2 * games})

    def ratings(self) -> Ratings:
        """Ratings from all games; scripted players are fixed at the anchors of the project."""
        found = find_table(settings_of(parse(self._arguments).config).settings)
        return rate(read_csv(self._out / GAMES_FILE), anchors=None if found is None else found[0].elo)

    def table(self, modes: Sequence[str], seeds: Sequence[int]) -> str:
        """Ratings, scores and exploiters of each mode, in Markdown."""
        ratings = self.ratings()
        rows = []
        for mode in modes:
            names = [run_name(mode, seed) for seed in seeds]
            elo = [float(ratings.elo[ratings.index(name)]) for name in names]
            errors = [float(ratings.high[ratings.index(name)] - ratings.elo[ratings.index(name)]) for name in names]
            each = ", ".join(f"{e:.0f} ± {s:.0f}" for e, s in zip(elo, errors, strict=True))
            others = [run_name(other, seed) for other in modes for seed in seeds if other != mode]
            cells = self._cells.read(_exploit_cell(name, ("victim",), (0,)) for name in names)
            exploited = ", ".join(interval(cell, 0) for cell in cells)
            finished = self._finished(names)
            rows.append((f"`{mode}`", each, _mean(elo), self._score(names, others), finished, exploited))
        head = "mode", "Elo of each seed", "mean Elo", "against the other modes", "finished", "its exploiter"
        return table(head, rows)

    def against_each_other(self, modes: Sequence[str], seeds: Sequence[int]) -> str:
        """Score of the mode of a row against that of a column, in Markdown."""
        runs = {mode: [run_name(mode, seed) for seed in seeds] for mode in modes}
        rows = [
            (f"`{mode}`", *("" if mode == other else self._score(runs[mode], runs[other]) for other in modes))
            for mode in modes
        ]
        return table(("", *(f"`{mode}`" for mode in modes)), rows)

    def against_scripted(self, modes: Sequence[str], seeds: Sequence[int]) -> str:
        """Score of each mode against each scripted player: the mean of the seeds and the worst, in Markdown."""
        rows = []
        for mode in modes:
            names = [run_name(mode, seed) for seed in seeds]
            found = self._scores(names, bots.LADDER)
            scores = [[found[name, bot] for name in names] for bot in bots.LADDER]
            rows.append((f"`{mode}`", *(f"{fmean(each):.0%} ({min(each):.0%})" for each in scores)))
        return table(("", *(f"`{bot}`" for bot in bots.LADDER)), rows)

    def exploits(self, modes: Sequence[str], seeds: Sequence[int], tries: Sequence[int]) -> str:
        """Several exploiters from both starts, of some modes, in Markdown."""
        rows = []
        for name in (run_name(mode, seed) for mode in modes for seed in seeds):
            for cell in self._cells.read([_exploit_cell(name, ("scratch", "victim"), tries)]):
                by_start = [
                    ", ".join(f"{a['score']:.0%}" for a in cell["attempts"] if a["start"] == start)
                    for start in ("scratch", "victim")
                ]
                rows.append((f"`{name}`", *by_start, interval(cell, 0)))
        return table(("run", "from scratch", "from its weights", "the best, in fresh games"), rows)

    def write(self, page: Path, modes: Sequence[str], seeds: Sequence[int], best: Sequence[str]) -> None:
        """Put the tables into the page."""
        put_between(page, "modes", self.table(modes, seeds))
        put_between(page, "modes_cross", self.against_each_other(modes, seeds))
        put_between(page, "modes_scripted", self.against_scripted(modes, seeds))
        put_between(page, "modes_exploits", self.exploits(best, seeds, (0, 1, 2)))

    def _folder(self, name: str) -> Path:
        mode, _, seed = name.rpartition("-")
        return self._runs / mode / f"seed_{seed}"

    def _contender(self, name: str) -> Contender:
        return Contender(name) if name in bots.NAMES else Contender(name, load_policy(self._folder(name)))

    def _games(self) -> list[dict[str, str]]:
        path = self._out / GAMES_FILE
        if not path.exists():
            return []
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def _finished(self, names: Sequence[str]) -> str:
        """Share of the games of these players that ended because one was out of stocks."""
        rows = [row for row in self._games() if {row["first"], row["second"]} & {*names}]
        return f"{fmean(int(row['finished']) for row in rows):.0%}"

    def _score(self, names: Sequence[str], others: Sequence[str]) -> str:
        """Score of the runs ``names`` against the runs ``others``, with an interval over seeds of both."""
        scores = self._scores(names, others)
        if len(scores) < len(names) * len(others) or not scores:
            return ""  # some pairs are missing
        low, mean, high = between_runs(np.array([[scores[a, b] for b in others] for a in names]))
        return interval({"score": mean, "low": low, "high": high}, 0)

    def _scores(self, names: Sequence[str], others: Sequence[str]) -> dict[tuple[str, str], float]:
        """Mean score of each of ``names`` against each of ``others`` that it has met."""
        games: dict[tuple[str, str], list[float]] = {}
        for row in self._games():
            first, second, points = row["first"], row["second"], float(row["score"])
            for mine, other, score_of_mine in ((first, second, points), (second, first, 1.0 - points)):
                if mine in names and other in others:
                    games.setdefault((mine, other), []).append(score_of_mine)
        return {pair: fmean(points) for pair, points in games.items()}


def _exploit_cell(name: str, starts: Sequence[str], seeds: Sequence[int]) -> str:
    return f"exploit_{name}_{'+'.join(starts)}_{len(seeds)}"


def _mean(values: Sequence[float]) -> str:
    """Mean and its 95% interval over seeds."""
    return f"{fmean(values):.0f}" + (f" ± {half95(values):.0f}" if len(values) > 1 else "")


def between_runs(scores: Floats) -> tuple[float, float, float]:
    """Low end, mean and high end of the scores [runs, other runs], over other seeds of both sides.

    The runs of both sides are the samples, not the games, since the same few runs play all games.
    """
    mean = float(scores.mean())
    variance = sum(float(side.var(ddof=1)) / len(side) for side in (scores.mean(1), scores.mean(0)) if len(side) > 1)
    half = t95(min(scores.shape)) * math.sqrt(variance) if min(scores.shape) > 1 else 1.0
    return max(0.0, mean - half), mean, min(1.0, mean + half)


def _append(path: Path, rows: Sequence[tuple[str, str, float, int, int]]) -> None:
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(FIELDS)
        writer.writerows((a, b, f"{points:g}", seed, finished) for a, b, points, seed, finished in rows)


def main() -> int:
    """Run the command; the exit code."""
    command = Command("modes", __doc__)
    command.add_argument("--modes", default=MODES, metavar="NAME,NAME", help="(default: %(default)s)")
    command.add_seeds()
    command.add_argument("--steps", type=int, default=6_000_000, metavar="N", help="of a run (default: %(default)s)")
    command.add_argument("--games", type=int, default=20, metavar="N", help="of two players (default: %(default)s)")
    command.add_argument("--scripted-games", type=int, default=100, metavar="N", help="of a run and a scripted player")
    command.add_argument("--exploiter-steps", type=int, default=1_000_000, metavar="N", help="(default: %(default)s)")
    command.add_argument("--best", default="", metavar="NAME,NAME", help="modes with more exploiters (part search)")
    command.add_parts(PARTS)
    command.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "modes", help="where the runs go")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    parts = chosen("--parts", options.parts, PARTS)
    modes = chosen("--modes", options.modes, tuple(SHARES))
    best = chosen("--best", [mode for mode in options.best.split(",") if mode], modes)
    study = ModeStudy(options.runs, ROOT / "docs" / "data" / "modes", options.steps, tell)
    names = [run_name(mode, seed) for seed in options.seeds for mode in modes]
    if "train" in parts:
        for seed, mode in itertools.product(options.seeds, modes):
            study.train(mode, seed)
    if "games" in parts:
        study.meet(names, options.games, options.scripted_games)
    if "exploit" in parts:
        for name in names:
            study.exploit(name, options.exploiter_steps, ("victim",), (0,), 200)
    if "search" in parts:
        for name in (run_name(mode, seed) for seed in options.seeds for mode in best):
            study.exploit(name, options.exploiter_steps, ("scratch", "victim"), (0, 1, 2), 200)
    if "page" in parts:
        study.write(ROOT / "docs" / "learning.md", modes, options.seeds, best)


if __name__ == "__main__":
    sys.exit(main())
