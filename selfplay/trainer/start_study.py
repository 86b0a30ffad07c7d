"""Does self-play that starts from imitation get further than self-play from scratch, and how near to the teacher?

A run is called ``<arm>-<seed>``; arms are ``scratch`` and ``kl_<weight>``, the weight of ``--teacher-kl``. Its training
is a folder, its figures are a JSON file; only what is missing is made.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint import RunDir, list_generations
from selfplay.errors import ConfigError, SelfPlayError
from selfplay.policy.policy import load_fighter, load_policy
from selfplay.report.curves import Curve, svg
from selfplay.runner.match import Contender, Rules
from selfplay.trainer.cli import parse
from selfplay.trainer.evaluation import Evaluation, evaluate
from selfplay.trainer.finishing import finish, is_finished
from selfplay.trainer.machine import processor
from selfplay.trainer.pages import put_between
from selfplay.trainer.rating import config_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

SCRATCH: Final = "scratch"
COMMAND: Final = "python scripts/train_self_play.py --game-type mock --preset laptop --timesteps {steps} --seed {seed}"
GAMES, TWO_RUNS, ALONG = 400, 100, 40  # of the last generation, of two last ones, of each one on the way
POINTS: Final = 60  # of a curve
CURVES: Final = {
    "teacher_kl": ("losses/teacher_kl", "KL(teacher, policy), nats"),
    "teacher_kl_reverse": ("losses/teacher_kl_reverse", "KL(policy, teacher), nats"),
    "entropy": ("losses/entropy", "entropy, nats"),
}
SEED: Final = 20_000  # of the games that are counted


class StartStudy:
    """A study of runs that start from one policy.

    Args:
        policy: What imitation made.
        runs: ``<arm>/seed_<seed>`` are the runs.
        out: Where the figures go.
        steps: Of each training.
        tell: Is told how it goes.
    """

    def __init__(self, policy: Path, runs: Path, out: Path, steps: int, tell: Callable[[str], None]) -> None:
        self._policy, self._runs, self._out, self._steps, self._tell = policy, runs, out, steps, tell
        self._teacher = Contender("imitation", load_fighter(policy))
        out.mkdir(parents=True, exist_ok=True)

    def train(self, arm: str, seed: int) -> None:
        """Train a run, unless it is there and finished. Blocks.

        Raises:
            ConfigError: a run of other settings lies there.
            SelfPlayError: it was interrupted.
        """
        run = self._run(arm, seed)
        if is_finished(run, self._steps):
            return
        words = COMMAND.format(steps=self._steps, seed=seed).split()[2:]
        if arm != SCRATCH:
            words += ["--pretrained", str(self._policy), "--teacher-kl", arm.removeprefix("kl_")]
        wanted = parse([*words, "--checkpoint", str(run.path)])
        self._tell(f"training {arm}, seed {seed}")
        if finish(run, wanted.config, wanted.explicit, wanted.preset):
            raise SelfPlayError(f"{run.path} was interrupted")

    def measure(self, arm: str, seed: int, seeds: Sequence[int]) -> None:
        """Let a run play the policy that it started from, and the runs from scratch, unless it has. Blocks."""
        cell = self._cell(arm, seed)
        if cell.exists():
            if json.loads(cell.read_text(encoding="utf-8"))["teacher"] != self._hash:
                raise ConfigError(f"{cell} is of another policy; move it away")
            return
        run = self._run(arm, seed)
        last = self._last(arm, seed)
        document: dict[str, Any] = {
            "command": COMMAND.format(steps=self._steps, seed=seed) + self._more(arm),
            "teacher": self._hash,
            "arm": arm,
            "seed": seed,
            "date": datetime.now(UTC).date().isoformat(),
            "processor": processor(),
            "training_s": run.read_summary()["elapsed_s"],
            "result": asdict(self._play(run, last, self._teacher, GAMES, seed)),
            "curves": self._curves(run),
            "win_rate": [
                (made.iteration, self._play(run, _named(load_policy(made.path)), self._teacher, ALONG, seed).score)
                for made in list_generations(run)
            ],
            "steps_per_iteration": config_of(run).steps_per_iteration,
        }
        if arm != SCRATCH:
            document["against_scratch"] = {
                str(other): asdict(self._play(run, last, self._last(SCRATCH, other), TWO_RUNS, seed)) for other in seeds
            }
        cell.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        self._tell(f"{arm}, seed {seed}: {document['result']['score']:.1%} against the policy that was imitated")

    def meet(self, one: str, other: str, seed: int) -> None:
        """Let the runs of two arms and one seed play each other, unless they have. Blocks."""
        cell = self._pair(one, other, seed)
        if not cell.exists():
            found = self._play(self._run(one, seed), self._last(one, seed), self._last(other, seed), TWO_RUNS, seed)
            cell.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
            self._tell(f"{one} against {other}, seed {seed}: {found.score:.1%}")

    def write(self, page: Path, arms: Sequence[str], seeds: Sequence[int]) -> None:
        """Put the table into the page, and charts beside it."""
        cells = {arm: [c for s in seeds if (c := self._read(arm, s)) is not None] for arm in arms}
        pairs = {
            (a, b): [json.loads(p.read_text(encoding="utf-8")) for s in seeds if (p := self._pair(a, b, s)).exists()]
            for a, b in pairs_of(arms)
        }
        put_between(page, "start", f"{table(cells)}\n\n{meetings(pairs)}")
        for name, (_, label) in CURVES.items():
            curves = [
                Curve(f"{arm}, seed {cell['seed']}", *zip(*cell["curves"][name], strict=True))
                for arm, found in cells.items()
                for cell in found
                if arm != SCRATCH or name == "entropy"
            ]
            if curves:
                (self._out / f"{name}.svg").write_text(svg(curves, "million steps", label), encoding="utf-8")
        rates = [
            Curve(f"{arm}, seed {cell['seed']}", [i * cell["steps_per_iteration"] / 1e6 for i, _ in points],
                  [score for _, score in points])
            for arm, found in cells.items() for cell in found if (points := cell["win_rate"])
        ]  # fmt: skip
        if rates:
            chart = svg(rates, "million steps", "score against the imitation policy")
            (self._out / "win_rate.svg").write_text(chart, encoding="utf-8")

    @property
    def _hash(self) -> str:
        return self._teacher.version

    def _more(self, arm: str) -> str:
        return "" if arm == SCRATCH else f" --pretrained {self._policy.name} --teacher-kl {arm.removeprefix('kl_')}"

    def _run(self, arm: str, seed: int) -> RunDir:
        return RunDir(self._runs / arm / f"seed_{seed}")

    def _cell(self, arm: str, seed: int) -> Path:
        return self._out / f"{arm}_{seed}.json"

    def _pair(self, one: str, other: str, seed: int) -> Path:
        return self._out / f"{one}_against_{other}_{seed}.json"

    def _read(self, arm: str, seed: int) -> dict[str, Any] | None:
        cell = self._cell(arm, seed)
        return json.loads(cell.read_text(encoding="utf-8")) if cell.exists() else None

    def _last(self, arm: str, seed: int) -> Contender:
        return Contender(f"{arm}-{seed}", load_policy(self._run(arm, seed).path))

    def _play(self, run: RunDir, one: Contender, other: Contender, games: int, seed: int) -> Evaluation:
        config = config_of(run)
        rules = Rules(config.game.stage, config.game.max_episode_frames)
        return evaluate(one, other, games, config.game.characters, rules, SEED + seed)

    def _curves(self, run: RunDir) -> dict[str, list[tuple[float, float]]]:
        """(million steps, value), means of equal parts of the run."""
        rows = [json.loads(line) for line in run.metrics.read_text(encoding="utf-8").splitlines()]
        size = math.ceil(len(rows) / POINTS)
        parts = [rows[i : i + size] for i in range(0, len(rows), size)]
        return {
            name: [(part[-1]["total_steps"] / 1e6, fmean(row.get(tag, 0.0) for row in part)) for part in parts]
            for name, (tag, _) in CURVES.items()
        }


def _named(policy: Any) -> Contender:  # noqa: ANN401
    return Contender(policy.meta.id, policy)


def table(cells: dict[str, list[dict[str, Any]]]) -> str:
    """What was measured, in Markdown."""
    lines = [
        "| start | seed | against the imitation policy | against scratch, seeds in order "
        "| KL(teacher, policy) at the end | entropy at the end | minutes |",
        "|---|---|---|---|---|---|---|",
    ]
    for arm, found in cells.items():
        for cell in found:
            kl = "" if arm == SCRATCH else f"{cell['curves']['teacher_kl'][-1][1]:.2f}"
            against = ", ".join(_score(result) for result in cell.get("against_scratch", {}).values())
            lines.append(
                f"| {_shown(arm)} | {cell['seed']} | {_score(cell['result'])} | {against} | {kl} "
                f"| {cell['curves']['entropy'][-1][1]:.2f} | {cell['training_s'] / 60:.1f} |"
            )
    return "\n".join(lines)


def pairs_of(arms: Sequence[str]) -> list[tuple[str, str]]:
    """Every two arms that start from imitation."""
    return list(combinations([arm for arm in arms if arm != SCRATCH], 2))


def meetings(pairs: dict[tuple[str, str], list[dict[str, Any]]]) -> str:
    """How arms that start from imitation do against each other, run against run of one seed, in Markdown."""
    lines = ["| | against | score of the first, seeds in order |", "|---|---|---|"]
    lines += [
        f"| {_shown(a)} | {_shown(b)} | {', '.join(map(_score, found))} |" for (a, b), found in pairs.items() if found
    ]
    return "\n".join(lines)


def _shown(arm: str) -> str:
    return "scratch" if arm == SCRATCH else f"imitation, `--teacher-kl {arm.removeprefix('kl_')}`"


def _score(result: dict[str, Any]) -> str:
    return f"{result['score']:.1%} [{result['low']:.1%}, {result['high']:.1%}]"
