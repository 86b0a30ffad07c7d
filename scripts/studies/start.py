"""Compare self-play that starts from imitation with self-play from scratch, on one budget; writes docs/imitation.md.

A run is named ``<arm>-<seed>``; arms are ``scratch`` and ``kl_<weight>``, the weight of ``--teacher-kl``. What is
finished is not repeated: runs in --runs, figures in docs/data/start/.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT
from scripts.studies.cells import Cell, Cells, read_curves, train_if_missing, write_chart
from scripts.studies.command_line import Command, chosen, notify, weights
from scripts.studies.pages import interval, measured_here, put_between
from scripts.studies.pages import table as markdown
from selfplay.checkpoint import RunDir, list_generations
from selfplay.commands.evaluation import Evaluation, evaluate
from selfplay.policy.policy import load_fighter, load_policy
from selfplay.runner.match import Contender, Rules
from selfplay.train.fighting.rating import config_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

SCRATCH: Final = "scratch"
COMMAND: Final = "python scripts/train_self_play.py --game-type mock --preset laptop --timesteps {steps} --seed {seed}"
GAMES, TWO_RUNS, ALONG = 400, 100, 40  # of the last generation, between two runs, of each earlier generation
CURVES: Final = {
    "teacher_kl": ("losses/teacher_kl", "KL(teacher, policy), nats"),
    "teacher_kl_reverse": ("losses/teacher_kl_reverse", "KL(policy, teacher), nats"),
    "entropy": ("losses/entropy", "entropy, nats"),
}
SEED: Final = 20_000  # of the games
PARTS: Final = ("train", "games", "page")


class StartStudy:
    """A study of runs that start from one policy.

    Args:
        policy: A policy trained by imitation.
        runs: ``<arm>/seed_<seed>`` are the runs.
        out: Where the figures go.
        steps: Timesteps of each training.
        notify: Prints progress.
    """

    def __init__(self, policy: Path, runs: Path, out: Path, steps: int, notify: Callable[[str], None]) -> None:
        self._policy, self._runs, self._out, self._steps, self._notify = policy, runs, out, steps, notify
        self._cells = Cells(out)

    def train(self, arm: str, seed: int) -> None:
        """Train a run unless it is finished. Blocks.

        Raises:
            ConfigError: the folder holds a run of another length.
            SelfPlayError: the training was interrupted.
        """
        words = COMMAND.format(steps=self._steps, seed=seed).split()[2:]
        if arm == SCRATCH:
            words += ["--pretrained", "none"]
        else:
            words += ["--pretrained", str(self._policy), "--teacher-kl", arm.removeprefix("kl_")]
        train_if_missing(self._run(arm, seed), words, self._notify)

    def measure(self, arm: str, seed: int, seeds: Sequence[int]) -> None:
        """Play games of a run against the policy that it started from, and against runs from scratch. Blocks.

        Raises:
            ConfigError: the finished cell is of another policy.
        """
        name = f"{arm}_{seed}"
        if self._cells.make(name, lambda: self._measure(arm, seed, seeds), {"teacher": self._teacher_hash}):
            score = self._cells.read([name])[0]["result"]["score"]
            self._notify(f"{arm}, seed {seed}: {score:.1%} against the policy that was imitated")

    def meet(self, one: str, other: str, seed: int) -> None:
        """Play games of the runs of two arms and one seed, unless finished. Blocks."""

        def measure() -> Cell:
            found = self._play(self._run(one, seed), self._last(one, seed), self._last(other, seed), TWO_RUNS, seed)
            self._notify(f"{one} against {other}, seed {seed}: {found.score:.1%}")
            return asdict(found)

        self._cells.make(_pair(one, other, seed), measure)

    def write(self, page: Path, arms: Sequence[str], seeds: Sequence[int]) -> None:
        """Put the tables into the page, and draw the charts in the folder of the cells."""
        cells = {arm: self._cells.read(f"{arm}_{seed}" for seed in seeds) for arm in arms}
        pairs = {(a, b): self._cells.read(_pair(a, b, seed) for seed in seeds) for a, b in pairs_of(arms)}
        put_between(page, "start", f"{table(cells)}\n\n{meetings(pairs)}")
        # Those from scratch last, since some charts are without them and an arm has one colour in all.
        named = [(arm, cell) for arm in sorted(arms, key=SCRATCH.__eq__) for cell in cells[arm]]
        for name, (_, label) in CURVES.items():
            shown = [(_start(a), c["curves"][name]) for a, c in named if a != SCRATCH or name == "entropy"]
            write_chart(self._out / f"{name}.svg", shown, "million steps", label)
        rates = [
            (_start(arm), [(i * cell["steps_per_iteration"] / 1e6, score) for i, score in cell["win_rate"]])
            for arm, cell in named
            if cell["win_rate"]
        ]
        write_chart(self._out / "win_rate.svg", rates, "million steps", "score against the imitation policy")

    @cached_property
    def _teacher(self) -> Contender:
        return Contender("imitation", load_fighter(self._policy))

    @cached_property
    def _teacher_hash(self) -> str:
        return str(load_fighter(self._policy).meta.weights_hash)

    def _measure(self, arm: str, seed: int, seeds: Sequence[int]) -> Cell:
        run, last = self._run(arm, seed), self._last(arm, seed)
        start = f"{self._policy.name} --teacher-kl {arm.removeprefix('kl_')}" if arm != SCRATCH else "none"
        along = [(each.iteration, load_policy(each.path)) for each in list_generations(run)]
        cell: Cell = {
            "command": f"{COMMAND.format(steps=self._steps, seed=seed)} --pretrained {start}",
            "teacher": self._teacher_hash,
            "arm": arm,
            "seed": seed,
            **measured_here(),
            "training_s": run.read_summary()["elapsed_s"],
            "result": asdict(self._play(run, last, self._teacher, GAMES, seed)),
            "curves": read_curves(run, {name: tag for name, (tag, _) in CURVES.items()}, "total_steps", 1e6),
            "win_rate": [
                (iteration, self._play(run, Contender(policy.meta.id, policy), self._teacher, ALONG, seed).score)
                for iteration, policy in along
            ],
            "steps_per_iteration": config_of(run).steps_per_iteration,
        }
        if arm != SCRATCH:
            cell["against_scratch"] = {
                str(other): asdict(self._play(run, last, self._last(SCRATCH, other), TWO_RUNS, seed)) for other in seeds
            }
        return cell

    def _run(self, arm: str, seed: int) -> RunDir:
        return RunDir(self._runs / arm / f"seed_{seed}")

    def _last(self, arm: str, seed: int) -> Contender:
        return Contender(f"{arm}-{seed}", load_policy(self._run(arm, seed).path))

    def _play(self, run: RunDir, one: Contender, other: Contender, games: int, seed: int) -> Evaluation:
        game = config_of(run).game
        rules = Rules(game.stage, game.max_episode_frames)
        return evaluate(one, other, games, game.characters, rules, SEED + seed)


def _pair(one: str, other: str, seed: int) -> str:
    return f"{one}_against_{other}_{seed}"


def table(cells: Mapping[str, Sequence[Cell]]) -> str:
    """Scores, divergence and entropy of each run, in Markdown."""
    head = (
        "start", "seed", "against the imitation policy", "against scratch, by seed",
        "KL(teacher, policy) at the end", "entropy at the end", "minutes",
    )  # fmt: skip
    rows = []
    for arm, cell in ((arm, cell) for arm, found in cells.items() for cell in found):
        kl = "" if arm == SCRATCH else f"{cell['curves']['teacher_kl'][-1][1]:.2f}"
        against = ", ".join(map(interval, cell.get("against_scratch", {}).values()))
        entropy, minutes = f"{cell['curves']['entropy'][-1][1]:.2f}", f"{cell['training_s'] / 60:.1f}"
        rows.append((_shown(arm), cell["seed"], interval(cell["result"]), against, kl, entropy, minutes))
    return markdown(head, rows)


def pairs_of(arms: Sequence[str]) -> list[tuple[str, str]]:
    """Every two arms that start from imitation."""
    return list(combinations([arm for arm in arms if arm != SCRATCH], 2))


def meetings(pairs: Mapping[tuple[str, str], Sequence[dict[str, Any]]]) -> str:
    """Scores of arms that start from imitation against each other, run against run of one seed, in Markdown."""
    rows = [(_shown(a), _shown(b), ", ".join(map(interval, found))) for (a, b), found in pairs.items() if found]
    return markdown(("", "against", "score, by seed"), rows)


def _start(arm: str) -> str:
    return SCRATCH if arm == SCRATCH else f"--teacher-kl {arm.removeprefix('kl_')}"


def _shown(arm: str) -> str:
    return SCRATCH if arm == SCRATCH else f"imitation, `{_start(arm)}`"


def main() -> int:
    """Run the command; the exit code."""
    command = Command("start", __doc__)
    command.add_argument("--policy", type=Path, required=True, metavar="PATH", help="a policy trained by imitation")
    command.add_argument(
        "--teacher-kl", type=weights, default="0,0.01,0.1", metavar="F,F", help="weights (default: %(default)s)"
    )
    command.add_seeds()
    command.add_argument("--steps", type=int, default=4_000_000, metavar="N", help="of a run (default: %(default)s)")
    command.add_parts(PARTS)
    command.add_argument("--runs", type=Path, default=ROOT / "checkpoints" / "start", help="where the runs go")
    command.add_argument("--name", default="start", help="folder of the figures in docs/data (default: %(default)s)")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    parts = chosen("--parts", options.parts, PARTS)
    arms, seeds = [SCRATCH, *(f"kl_{weight}" for weight in options.teacher_kl)], options.seeds
    out = ROOT / "docs" / "data" / options.name
    study = StartStudy(options.policy, options.runs, out, options.steps, notify)
    if "train" in parts:
        for seed, arm in product(seeds, arms):
            study.train(arm, seed)
    if "games" in parts:
        for seed in seeds:
            for arm in arms:
                study.measure(arm, seed, seeds)
            for one, other in pairs_of(arms):
                study.meet(one, other, seed)
    if "page" in parts:
        study.write(ROOT / "docs" / "imitation.md", arms, seeds)


if __name__ == "__main__":
    sys.exit(main())
