"""Measure whether training learns as well with fault injection as without; writes docs/reliability.md.

Trains the main job with faults (--chaos) and without, for some seeds, and plays the last generations against each
other. What is in docs/data/chaos/ is not measured again; delete a file to repeat it. Exit code 1 where a run with
faults misses a bar.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.melee import bots
from scripts.studies import ROOT
from scripts.studies.cells import Cell, Cells
from scripts.studies.command_line import Command, chosen, tell
from scripts.studies.learning import GAMES, train_and_evaluate
from scripts.studies.modes import between_runs
from scripts.studies.pages import interval, put_between, table
from selfplay.checkpoint import RunDir, load_generation, save_policy
from selfplay.commands.evaluation import evaluate
from selfplay.commands.players import home_rules
from selfplay.errors import ConfigError
from selfplay.policy.policy import load_policy
from selfplay.runner.chaos import KINDS
from selfplay.runner.match import Contender

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

PLAN: Final = "crash=0.012,nan=0.012,kill=0.004,hang=0.002,slow=0.002"
SHARED: Final = ("--mode", "simple_mix", "--host", "process")
ARMS: Final[Mapping[str, tuple[str, ...]]] = {"without": SHARED, "with": (*SHARED, "--chaos", PLAN)}
WITHOUT, WITH = ARMS
LEAST_FAULTS: Final = {"crash": 20, "nan": 20, "hang": 2}  # that a run with faults must have had
BAND: Final = (0.40, 0.60)  # of the score of runs with faults against those without
SEED: Final = 20_000  # of the games between two runs
FINISHED: Final = 0.80  # least share of games that end because a player is out of stocks
_BARS: Final = {"gen_0": 0.95, "edge_guarder": 0.75, "counter_hitter": 0.75, "all_rounder": 0.0}  # others: 0.90
_BAR: Final = 0.90
PARTS: Final = ("train", "games", "page")

Pairs = dict[tuple[int, int], Cell]  # games of (seed with faults, seed without)


def bar(opponent: str) -> float:
    """The score that the main job must reach against an opponent."""
    return _BARS.get(opponent, _BAR)


class ChaosStudy:
    """Runs ``<arm>-<seed>``, their figures, copies of their last generations, and the games between two runs.

    Args:
        runs: Where the runs go.
        out: Where figures and copies of last generations go.
        tell: Prints progress.
        options: More arguments of each training.
        games: Of each evaluation.
    """

    def __init__(
        self, runs: Path, out: Path, tell: Callable[[str], None], options: Sequence[str] = (), games: int = GAMES
    ) -> None:
        self._runs, self._out, self._tell = runs, out, tell
        self._cells = Cells(out)
        self._options, self._games = tuple(options), games

    def train(self, arm: str, seed: int) -> None:
        """Train a run and play its games against the ladder, unless finished. Blocks.

        Raises:
            SelfPlayError: the training failed or was interrupted.
        """
        name = f"{arm}-{seed}"

        def measure() -> Cell:
            self._tell(f"training {name}")
            folder = self._runs / name
            shutil.rmtree(folder, ignore_errors=True)  # of an interrupted study: its faults would count twice
            cell = train_and_evaluate(seed, folder, (*ARMS[arm], *self._options), self._games)
            keep(RunDir(folder).generations / cell["newest"], self._policy(name))
            scores = ", ".join(f"{name} {result['score']:.0%}" for name, result in cell["results"].items())
            self._tell(f"{name}: {cell['wall_s'] / 60:.1f} minutes, {scores}")
            return cell

        self._cells.make(name, measure)

    def meet(self, seed: int, other: int) -> None:
        """Play games of a run with faults against one without, unless finished. Blocks."""

        def measure() -> Cell:
            names = (f"{WITH}-{seed}", f"{WITHOUT}-{other}")
            pair = tuple(Contender(name, load_policy(self._policy(name))) for name in names)
            characters, rules = home_rules((pair[0], pair[1]))
            found = evaluate(pair[0], pair[1], self._games, characters, rules, SEED + 100 * seed + other)
            self._tell(f"{names[0]} against {names[1]}: {found.score:.1%}")
            return asdict(found)

        self._cells.make(_pair(seed, other), measure)

    def write(self, page: Path, seeds: Sequence[int]) -> list[str]:
        """Put the finished cells into the page; the bars that were missed, in words."""
        runs = {arm: self._cells.read(f"{arm}-{seed}" for seed in seeds) for arm in ARMS}
        found = {(a, b): self._cells.read([_pair(a, b)]) for a, b in product(seeds, seeds)}
        pairs = {key: cells[0] for key, cells in found.items() if cells}
        tables = runs_table(runs), faults_table(runs[WITH]), pairs_table(pairs, seeds)
        put_between(page, "chaos", "\n\n".join(tables))
        return failures(runs, pairs)

    def _policy(self, name: str) -> Path:
        return self._out / "policies" / name


def _pair(seed: int, other: int) -> str:
    return f"{WITH}-{seed}_{WITHOUT}-{other}"


def keep(policy: Path, place: Path) -> None:
    """Copy a policy, without the path of its run on this machine."""
    meta, params = load_generation(policy)
    config: dict[str, Any] = {**meta.config}
    config["run"] = {**config["run"], "checkpoint": place.name}
    shutil.rmtree(place, ignore_errors=True)
    save_policy(place, meta.model_copy(update={"config": config}), params)


def failures(cells: Mapping[str, Sequence[Cell]], pairs: Pairs) -> list[str]:
    """Bars that the finished cells miss, in words."""
    wrong = []
    for cell in cells[WITH]:
        wrong += [f"seed {cell['seed']} with faults: {text}" for text in below_bars(cell["results"])]
        for kind, least in LEAST_FAULTS.items():
            count = cell["chaos"].get(kind, {"injected": 0})["injected"]
            if count < least:
                wrong.append(f"seed {cell['seed']}: {count} faults of kind {kind}, not {least}")
    if pairs and not BAND[0] <= (pooled := fmean(pair["score"] for pair in pairs.values())) <= BAND[1]:
        wrong.append(f"runs with faults score {pooled:.1%} against those without, not {BAND[0]:.0%} to {BAND[1]:.0%}")
    return wrong


def below_bars(results: Mapping[str, Cell]) -> list[str]:
    """Bars of the main job that a run misses, in words."""
    missed = [
        f"{result['score']:.1%} against {name}, not {bar(name):.0%}"
        for name, result in results.items()
        if result["score"] < bar(name)
    ]
    unfinished = [
        f"{result['finished']:.0%} of the games against {name} finished, not {FINISHED:.0%}"
        for name, result in results.items()
        if result.get("finished", 1.0) < FINISHED  # older figures lack it
    ]
    return missed + unfinished


def runs_table(cells: Mapping[str, Sequence[Cell]]) -> str:
    """Scores of each run, minutes and replaced runners, in Markdown."""
    names = ["gen_0", *bots.LADDER]
    rows = []
    for arm, cell in ((arm, cell) for arm, found in cells.items() for cell in found):
        results = cell["results"]
        shares = [result["finished"] for result in results.values() if "finished" in result]
        finished = f"{min(shares):.0%}" if shares else "not counted"
        scores = (f"{results[name]['score']:.1%}" for name in names)
        rows.append((arm, cell["seed"], *scores, finished, f"{cell['wall_s'] / 60:.1f}", cell["restarts"]))
    bars = (f"{name} (bar {bar(name):.0%})" for name in names)
    text = table(("faults", "seed", *bars, "finished, least", "minutes", "runners replaced"), rows)
    about = next((cell for found in cells.values() for cell in found), None)
    if about is None:
        return text
    dates = ", ".join(sorted({cell["date"] for found in cells.values() for cell in found}))
    return f"{text}\n\n{about['processor']}, {about['cores']} cores; {dates}; `{about['command']}` and so on."


def faults_table(cells: Sequence[Cell]) -> str:
    """Counts of faults by kind: injected, detected, recovered, segments lost."""
    rows = []
    for cell in cells:
        counts = (cell["chaos"].get(kind, {}) for kind in KINDS)
        rows.append((cell["seed"], *(" / ".join(map(str, count.values())) for count in counts)))
    return f"{table(('seed', *KINDS), rows)}\n\nIn each cell: injected / detected / recovered / segments lost."


def pairs_table(pairs: Pairs, seeds: Sequence[int]) -> str:
    """Scores of the runs with faults against those without, and their mean with an interval over seeds."""
    rows = [(f"seed {a}", *(interval(pairs[a, b]) if (a, b) in pairs else "" for b in seeds)) for a in seeds]
    text = table(("with faults", *(f"seed {seed} without" for seed in seeds)), rows)
    if len(pairs) < len(seeds) ** 2:
        return text
    scores = np.array([[pairs[a, b]["score"] for b in seeds] for a in seeds])
    low, mean, high = between_runs(scores)
    games = sum(pair["games"] for pair in pairs.values())
    return (
        f"{text}\n\nOverall {mean:.1%} of {games:,} games (pairs: {scores.min():.1%} to {scores.max():.1%}), with a "
        f"95% interval over seeds of {low:.0%} to {high:.0%}. Means by seed with faults: {_means(scores, 1)}; without: "
        f"{_means(1 - scores, 0)}."
    )


def _means(scores: np.ndarray[Any, np.dtype[np.float64]], axis: int) -> str:
    return ", ".join(f"{mean:.1%}" for mean in scores.mean(axis))


def main() -> int:
    """Run the command; the exit code."""
    command = Command("chaos", __doc__)
    command.add_seeds()
    command.add_argument("--games", type=int, default=200, metavar="N", help="of two players (default: %(default)s)")
    command.add_parts(PARTS)
    command.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "chaos", help="where the runs go")
    command.add_argument("--out", type=Path, default=ROOT / "docs" / "data" / "chaos", help="where figures go")
    command.add_argument("--page", type=Path, default=ROOT / "docs" / "reliability.md", help="the page to write")
    command.add_argument("options", nargs="*", metavar="-- OPTION", help="more arguments of each training")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> int:
    parts = chosen("--parts", options.parts, PARTS)
    if options.games < 2:
        raise ConfigError(f"--games {options.games}: at least 2 are needed, one from each seat")
    study = ChaosStudy(options.runs, options.out, tell, options.options, options.games)
    if "train" in parts:
        for seed, arm in product(options.seeds, ARMS):
            study.train(arm, seed)
    if "games" in parts:
        for seed, other in product(options.seeds, options.seeds):
            study.meet(seed, other)
    missed = study.write(options.page, options.seeds) if "page" in parts else []
    for text in missed:
        tell(f"failed: {text}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
