"""Which choice of opponents learns best on one budget?

Runs of each mode meet each other, the scripted players, and an exploiter of their own.

A run is called ``<mode>-<seed>``. Three kinds of cells are kept, and only those that are missing are made: the training
of a run (its folder), the games of two players (rows of ``games.csv``), and the exploiter of a run (a JSON file).
"""

from __future__ import annotations

import csv
import itertools
import json
import math
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.melee import bots
from selfplay.checkpoint import RunDir
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.league.anchors import find_table
from selfplay.league.chance import half95, t95
from selfplay.league.foreign import read_csv
from selfplay.league.ratings import rate
from selfplay.league.records import score
from selfplay.league.schedule import Fixture
from selfplay.policy.policy import load_policy
from selfplay.runner.match import Contender
from selfplay.seeding import derive
from selfplay.trainer.calibration import BATCH
from selfplay.trainer.cli import parse
from selfplay.trainer.exploit import exploit
from selfplay.trainer.finishing import finish, is_finished
from selfplay.trainer.pages import put_between
from selfplay.trainer.rating import play_fixtures, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from selfplay.league.games import Floats
    from selfplay.league.ratings import Ratings

COMMAND: Final = "python scripts/train_self_play.py --game-type mock --preset laptop --timesteps {steps}"
GAMES_FILE: Final = "games.csv"
FIELDS: Final = ("first", "second", "score", "pair")


def run_name(mode: str, seed: int) -> str:
    """Of the run of a mode and a seed."""
    return f"{mode}-{seed}"


class ModeStudy:
    """A study in two folders: ``runs`` holds what was trained, ``out`` the figures that are committed.

    Args:
        runs: ``<mode>/seed_<seed>`` are the runs.
        out: Where the cells go.
        steps: Of each training.
        tell: Is told how it goes.
        options: More of the command line of each training.
    """

    def __init__(
        self, runs: Path, out: Path, steps: int, tell: Callable[[str], None], options: Sequence[str] = ()
    ) -> None:
        self._runs, self._out, self._tell = runs, out, tell
        self._words = (*COMMAND.format(steps=steps).split()[2:], *options)
        self._config = parse(self._words).config
        out.mkdir(parents=True, exist_ok=True)

    def train(self, mode: str, seed: int) -> None:
        """Train a run, unless it is there and finished. Blocks."""
        run = RunDir(self._runs / mode / f"seed_{seed}")
        if is_finished(run, self._config.run.timesteps):
            return
        wanted = parse([*self._words, "--mode", mode, "--seed", str(seed), "--checkpoint", str(run.path)])
        self._tell(f"training {run_name(mode, seed)}")
        if finish(run, wanted.config, wanted.explicit, wanted.preset):
            raise SelfPlayError(f"{run.path} was interrupted")

    def meet(self, names: Sequence[str], games: int) -> None:
        """Let every two runs, and every run and scripted player, play ``games`` games, if they have not. Blocks."""
        path = self._out / GAMES_FILE
        known = {pair for pair, _ in self._games()}
        pairs = [*itertools.combinations(sorted(names), 2), *itertools.product(sorted(names), bots.LADDER)]
        missing = [pair for pair in pairs if frozenset(pair) not in known]
        if not missing:
            return
        settings = settings_of(self._config)
        needed = sorted({name for pair in missing for name in pair})
        contenders = {name: self._contender(name) for name in needed}
        each = games // settings.games_each
        side_by_side = max(1, BATCH // games)  # whole pairs of players: what is written down is complete
        for start in range(0, len(missing), side_by_side):
            part = missing[start : start + side_by_side]
            fixtures = [Fixture(a, b, derive(0, "modes", a, b, i)) for i in range(each) for a, b in part]
            rows = [
                (r.seats[0].player, r.seats[1].player, score(r, "stocks_percent"), r.seed)
                for r in play_fixtures(fixtures, contenders, settings, 0)
            ]
            _append(path, rows)
            self._tell(f"{start + len(part)} of {len(missing)} pairs have played")

    def exploit(self, name: str, steps: int, starts: Sequence[str], seeds: Sequence[int], games: int) -> None:
        """Train exploiters of a run, unless that was done. Blocks."""
        cell = self._exploit_cell(name, starts, seeds)
        if cell.exists():
            there = json.loads(cell.read_text(encoding="utf-8"))
            if (there["steps"], there["games"]) != (steps, 2 * games):
                raise ConfigError(f"{cell} is of {there['steps']:,} steps and {there['games']} games; move it away")
            return
        self._tell(f"exploiting {name} from {', '.join(starts)}, seeds {seeds}")
        found = exploit(self._folder(name), steps, self._runs / "exploiters" / name, starts, seeds, games, self._tell)
        document = asdict(found) | {"victim": name}
        for attempt in (document["best"], *document["attempts"]):
            attempt["path"] = Path(attempt["path"]).name  # of this machine no more than it takes
        cell.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    def ratings(self) -> Ratings:
        """Of all games so far; the scripted players are pinned where the project pins them."""
        found = find_table(settings_of(self._config).settings)
        return rate(read_csv(self._out / GAMES_FILE), anchors=None if found is None else found[0].elo)

    def table(self, modes: Sequence[str], seeds: Sequence[int]) -> str:
        """What was measured, in Markdown."""
        ratings = self.ratings()
        lines = [
            "| mode | Elo of each seed | mean Elo | against the other modes | its exploiter, from its weights |",
            "|---|---|---|---|---|",
        ]
        for mode in modes:
            names = [run_name(mode, seed) for seed in seeds]
            elo = [float(ratings.elo[ratings.index(name)]) for name in names]
            errors = [float(ratings.high[ratings.index(name)] - ratings.elo[ratings.index(name)]) for name in names]
            each = ", ".join(f"{e:.0f} ± {s:.0f}" for e, s in zip(elo, errors, strict=True))
            others = [run_name(other, seed) for other in modes for seed in seeds if other != mode]
            lines.append(
                f"| `{mode}` | {each} | {_mean(elo)} | {self._score(names, others)} | "
                f"{self._exploited(names, ('victim',), (0,))} |"
            )
        return "\n".join(lines)

    def against_each_other(self, modes: Sequence[str], seeds: Sequence[int]) -> str:
        """Score of the mode of a row against that of a column, in Markdown."""
        lines = ["| | " + " | ".join(f"`{mode}`" for mode in modes) + " |", "|---|" + "---|" * len(modes)]
        for mode in modes:
            names = [run_name(mode, seed) for seed in seeds]
            cells = [
                "" if mode == other else self._score(names, [run_name(other, seed) for seed in seeds])
                for other in modes
            ]
            lines.append(f"| `{mode}` | " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def exploits(self, modes: Sequence[str], seeds: Sequence[int], tries: Sequence[int]) -> str:
        """The thorough search, both starts and several exploiters, of some modes; in Markdown."""
        lines = ["| run | from scratch | from its weights | the best, in fresh games |", "|---|---|---|---|"]
        for name in (run_name(mode, seed) for mode in modes for seed in seeds):
            cell = self._exploit_cell(name, ("scratch", "victim"), tries)
            if cell.exists():
                found = json.loads(cell.read_text(encoding="utf-8"))
                by_start = {
                    start: ", ".join(f"{a['score']:.0%}" for a in found["attempts"] if a["start"] == start)
                    for start in ("scratch", "victim")
                }
                best = _interval(found)
                lines.append(f"| `{name}` | {by_start['scratch']} | {by_start['victim']} | {best} |")
        return "\n".join(lines)

    def write(self, page: Path, modes: Sequence[str], seeds: Sequence[int], best: Sequence[str]) -> None:
        """Put the tables into the page."""
        put_between(page, "modes", self.table(modes, seeds))
        put_between(page, "modes_cross", self.against_each_other(modes, seeds))
        put_between(page, "modes_exploits", self.exploits(best, seeds, (0, 1, 2)))

    def _folder(self, name: str) -> Path:
        mode, _, seed = name.rpartition("-")
        return self._runs / mode / f"seed_{seed}"

    def _contender(self, name: str) -> Contender:
        return Contender(name) if name in bots.NAMES else Contender(name, load_policy(self._folder(name)))

    def _games(self) -> list[tuple[frozenset[str], dict[str, str]]]:
        path = self._out / GAMES_FILE
        if not path.exists():
            return []
        with path.open(encoding="utf-8", newline="") as file:
            return [(frozenset((row["first"], row["second"])), row) for row in csv.DictReader(file)]

    def _score(self, names: Sequence[str], others: Sequence[str]) -> str:
        """Of the runs ``names`` against the runs ``others``, with an interval for other seeds of both."""
        games: dict[tuple[str, str], list[float]] = {}
        for _, row in self._games():
            first, second, points = row["first"], row["second"], float(row["score"])
            for mine, other, score_of_mine in ((first, second, points), (second, first, 1.0 - points)):
                if mine in names and other in others:
                    games.setdefault((mine, other), []).append(score_of_mine)
        if len(games) < len(names) * len(others) or not games:
            return ""  # not all have met yet
        low, mean, high = between_runs(np.array([[fmean(games[a, b]) for b in others] for a in names]))
        return f"{mean:.0%} [{low:.0%}, {high:.0%}]"

    def _exploit_cell(self, name: str, starts: Sequence[str], seeds: Sequence[int]) -> Path:
        return self._out / f"exploit_{name}_{'+'.join(starts)}_{len(seeds)}.json"

    def _exploited(self, names: Sequence[str], starts: Sequence[str], seeds: Sequence[int]) -> str:
        cells = [self._exploit_cell(name, starts, seeds) for name in names]
        found: list[dict[str, Any]] = [json.loads(cell.read_text(encoding="utf-8")) for cell in cells if cell.exists()]
        return ", ".join(_interval(document) for document in found)


def _interval(document: dict[str, Any]) -> str:
    return f"{document['score']:.0%} [{document['low']:.0%}, {document['high']:.0%}]"


def _mean(values: Sequence[float]) -> str:
    """With its 95% interval, from the differences between seeds."""
    if len(values) < 2:
        return f"{fmean(values):.0f}"
    return f"{fmean(values):.0f} ± {half95(values):.0f}"


def between_runs(scores: Floats) -> tuple[float, float, float]:
    """Low end, mean and high end of the scores [runs, other runs], if other seeds had been drawn of both.

    The runs of both sides are what was sampled, not the games: the same few runs stand behind all of them.
    """
    mean = float(scores.mean())
    variance = sum(float(side.var(ddof=1)) / len(side) for side in (scores.mean(1), scores.mean(0)) if len(side) > 1)
    half = t95(min(scores.shape)) * math.sqrt(variance) if min(scores.shape) > 1 else 1.0
    return max(0.0, mean - half), mean, min(1.0, mean + half)


def _append(path: Path, rows: Sequence[tuple[str, str, float, int]]) -> None:
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(FIELDS)
        writer.writerows((a, b, f"{points:g}", seed) for a, b, points, seed in rows)
