"""Does training learn as well while games crash, hang and give nonsense?

Runs of the main job with faults on purpose and without, otherwise alike. Each is held to the bars of the main job; the
last generations of both kinds meet. A run is called ``<arm>-<seed>``. What is finished is kept and not made again: the
figures of a run, a copy of its last generation (so that others can let them meet, too), and the games of two runs.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.melee import bots
from selfplay.checkpoint import RunDir, load_generation, save_policy
from selfplay.policy.policy import load_policy
from selfplay.runner.chaos import KINDS
from selfplay.runner.match import Contender
from selfplay.trainer.evaluation import evaluate
from selfplay.trainer.mode_study import between_runs
from selfplay.trainer.pages import put_between
from selfplay.trainer.players import home_rules
from selfplay.trainer.study import GAMES, run_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

PLAN: Final = "crash=0.012,nan=0.012,kill=0.004,hang=0.002,slow=0.002"
ALIKE: Final = ("--mode", "simple_mix", "--host", "process")
ARMS: Final[Mapping[str, tuple[str, ...]]] = {"without": ALIKE, "with": (*ALIKE, "--chaos", PLAN)}
WITHOUT, WITH = ARMS
LEAST_FAULTS: Final = {"crash": 20, "nan": 20, "hang": 2}  # that make a run one with faults
BAND: Final = (0.40, 0.60)  # in which the runs with faults must score against those without
SEED: Final = 20_000  # of the games of two runs
BY_STOCKS: Final = 0.80  # of the wins that must come with more stocks
_BARS: Final = {"gen_0": 0.95, bots.LADDER[-1]: 0.75, "counter_hitter": 0.75}  # others of the ladder: 0.90
_BAR: Final = 0.90


def bar(opponent: str) -> float:
    """The score that the main job must reach against an opponent."""
    return _BARS.get(opponent, _BAR)


class ChaosStudy:
    """The study's cells.

    Args:
        runs: Where the runs go.
        out: Where figures and copies of last generations go.
        tell: Is told how it goes.
        options: More of the command line of each training.
        games: Of each evaluation.
    """

    def __init__(
        self, runs: Path, out: Path, tell: Callable[[str], None], options: Sequence[str] = (), games: int = GAMES
    ) -> None:
        self._runs, self._out, self._tell = runs, out, tell
        self._options, self._games = tuple(options), games

    def train(self, arm: str, seed: int) -> None:
        """Train a run and play its games against the ladder, unless that was done. Blocks.

        Raises:
            SelfPlayError: the training failed or was interrupted.
        """
        name = f"{arm}-{seed}"
        if self._cell(name).exists():
            return
        self._tell(f"training {name}")
        folder = self._runs / name
        shutil.rmtree(folder, ignore_errors=True)  # of a study that was interrupted: its faults would count twice
        figures = self._out / f"{name}.tmp"
        run_cell(seed, folder, figures, (*ARMS[arm], *self._options), self._games)
        keep(RunDir(folder).generations / self._read(figures)["newest"], self._policy(name))
        figures.rename(self._cell(name))
        self._tell(f"{name}: {_short(self._read(self._cell(name)))}")

    def meet(self, seed: int, other: int) -> None:
        """Let a run with faults play one without, unless they have. Blocks."""
        cell = self._pair(seed, other)
        if cell.exists():
            return
        pair = [Contender(name, load_policy(self._policy(name))) for name in (f"{WITH}-{seed}", f"{WITHOUT}-{other}")]
        characters, rules = home_rules((pair[0], pair[1]))
        found = asdict(evaluate(pair[0], pair[1], self._games, characters, rules, SEED + 100 * seed + other))
        cell.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        self._tell(f"{pair[0].id} against {pair[1].id}: {found['score']:.1%}")

    def write(self, page: Path, seeds: Sequence[int]) -> list[str]:
        """Put what there is into the page; what is not as it should be, in words."""
        cells = {
            arm: [self._read(path) for seed in seeds if (path := self._cell(f"{arm}-{seed}")).exists()] for arm in ARMS
        }
        pairs = {(a, b): self._read(path) for a, b in product(seeds, seeds) if (path := self._pair(a, b)).exists()}
        put_between(
            page, "chaos", "\n\n".join((runs_table(cells), faults_table(cells[WITH]), pairs_table(pairs, seeds)))
        )
        return failures(cells, pairs)

    def _cell(self, name: str) -> Path:
        return self._out / f"{name}.json"

    def _pair(self, seed: int, other: int) -> Path:
        return self._out / f"{WITH}-{seed}_{WITHOUT}-{other}.json"

    def _policy(self, name: str) -> Path:
        return self._out / "policies" / name

    @staticmethod
    def _read(path: Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


def keep(policy: Path, place: Path) -> None:
    """Copy a policy to where others find it, without the place that its run had on this machine."""
    meta, params = load_generation(policy)
    config: dict[str, Any] = {**meta.config}
    config["run"] = {**config["run"], "checkpoint": place.name}
    shutil.rmtree(place, ignore_errors=True)
    save_policy(place, meta.model_copy(update={"config": config}), params)


Cells = dict[str, list[dict[str, Any]]]
Pairs = dict[tuple[int, int], dict[str, Any]]


def failures(cells: Mapping[str, Sequence[dict[str, Any]]], pairs: Pairs) -> list[str]:
    """What is not as it should be, in words, of the cells that are there."""
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


def below_bars(results: Mapping[str, dict[str, Any]]) -> list[str]:
    """Bars of the main job that a run misses, in words."""
    missed = [
        f"{result['score']:.1%} against {name}, not {bar(name):.0%}"
        for name, result in results.items()
        if result["score"] < bar(name)
    ]
    stocks = [
        f"{result['by_stocks']:.0%} of the wins against {name} by stocks, not {BY_STOCKS:.0%}"
        for name, result in results.items()
        if result["by_stocks"] is not None and result["by_stocks"] < BY_STOCKS
    ]
    return missed + stocks


def runs_table(cells: Cells) -> str:
    """Each run: its scores, and what the faults cost."""
    names = ["gen_0", *bots.LADDER]
    lines = [
        "| faults | seed | " + " | ".join(f"{name} (bar {bar(name):.0%})" for name in names)
        + " | by stocks, least | minutes | runners replaced |",
        "|---|---|" + "---|" * (len(names) + 3),
    ]  # fmt: skip
    for arm, found in cells.items():
        for cell in found:
            results = cell["results"]
            shares = [result["by_stocks"] for result in results.values() if result["by_stocks"] is not None]
            stocks = f"{min(shares):.0%}" if shares else "no wins"
            scores = " | ".join(f"{results[name]['score']:.1%}" for name in names)
            lines.append(
                f"| {arm} | {cell['seed']} | {scores} | {stocks} | {cell['wall_s'] / 60:.1f} | {cell['restarts']} |"
            )
    about = next((cell for found in cells.values() for cell in found), None)
    if about is not None:
        dates = sorted({cell["date"] for found in cells.values() for cell in found})
        lines += [
            "",
            f"{about['processor']}, {about['cores']} cores; {', '.join(dates)}; `{about['command']}` and so on.",
        ]
    return "\n".join(lines)


def faults_table(cells: Sequence[dict[str, Any]]) -> str:
    """What became of the faults, by kind: injected, detected, recovered, segments lost."""
    lines = ["| seed | " + " | ".join(KINDS) + " |", "|---|" + "---|" * len(KINDS)]
    for cell in cells:
        told = [cell["chaos"].get(kind) for kind in KINDS]
        shown = " | ".join("" if t is None else " / ".join(str(count) for count in t.values()) for t in told)
        lines.append(f"| {cell['seed']} | {shown} |")
    lines += ["", "In each cell: injected / detected / recovered / segments lost."]
    return "\n".join(lines)


def pairs_table(pairs: Pairs, seeds: Sequence[int]) -> str:
    """Score of the runs with faults against those without, and all together with an interval for other seeds."""
    lines = ["| with faults | " + " | ".join(f"seed {seed} without" for seed in seeds) + " |"]
    lines.append("|---|" + "---|" * len(seeds))
    for seed in seeds:
        shown = [
            f"{p['score']:.1%} [{p['low']:.1%}, {p['high']:.1%}]" if (p := pairs.get((seed, o))) else "" for o in seeds
        ]
        lines.append(f"| seed {seed} | " + " | ".join(shown) + " |")
    if len(pairs) == len(seeds) ** 2:
        scores = np.array([[pairs[a, b]["score"] for b in seeds] for a in seeds])
        low, mean, high = between_runs(scores)
        spread = (scores.min(), scores.max())
        games = sum(pair["games"] for pair in pairs.values())
        lines += [
            "",
            f"Together {mean:.1%} of {games:,} games ({spread[0]:.1%} to {spread[1]:.1%}); had other seeds been drawn, "
            f"{low:.0%} to {high:.0%} (95%). By seed with faults {_means(scores, 1)}, without {_means(1 - scores, 0)}.",
        ]
    return "\n".join(lines)


def _means(scores: np.ndarray[Any, np.dtype[np.float64]], axis: int) -> str:
    return ", ".join(f"{mean:.1%}" for mean in scores.mean(axis))


def _short(cell: dict[str, Any]) -> str:
    scores = ", ".join(f"{name} {result['score']:.0%}" for name, result in cell["results"].items())
    return f"{cell['wall_s'] / 60:.1f} minutes, {scores}"
