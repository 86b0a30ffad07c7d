"""Ten minutes of Connect Four from nothing: every generation against alpha-beta, which training never meets.

Also the share of the last generation's moves that keep the value of the position, which a solver knows. What is
finished is not repeated: trainings in --runs, figures in docs/data/connect_four.json. Writes docs/connect_four.md.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

import selfplay
from scripts.studies import ROOT
from scripts.studies.cells import Cell, Cells
from scripts.studies.charts import Curve, Plot, lines
from scripts.studies.command_line import Command, chosen, notify
from scripts.studies.connect_four import alpha_beta
from scripts.studies.connect_four.game import DEPTH
from scripts.studies.connect_four.positions import collect, share_of_optimal
from scripts.studies.connect_four.search import COLUMNS
from scripts.studies.connect_four.solver import Solver
from scripts.studies.pages import interval, machine_here, put_between, table
from selfplay.checkpoint import RunDir, list_generations
from selfplay.checkpoint.store import write_file
from selfplay.policy.policy import Policy, load_policy

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scripts.studies.connect_four.board import Choose, Position

GAME: Final = "scripts.studies.connect_four.game:make"
NETWORK: Final = "scripts.studies.connect_four.network:LineNetwork"
PARTS: Final = ("train", "page")
SOLVED: Final = 40  # games of alpha-beta against itself whose positions are solved


class Study:
    """Cells by seed.

    Args:
        runs: Folder of the trainings.
        minutes: Of a training.
        games: Of a generation against alpha-beta.
    """

    def __init__(self, runs: Path, minutes: float, games: int) -> None:
        self._runs, self._minutes, self._games = runs, minutes, games
        self._solver = Solver()

    def measure(self, seed: int) -> Cell:
        """Train a run unless it is finished, and measure its generations. Blocks."""
        run = RunDir(self._runs / f"seed_{seed}")
        selfplay.allow(GAME)
        selfplay.allow(NETWORK)
        begun = run.summary_json.exists()
        if not (begun and run.read_summary()["finished"]):
            notify(f"training {run.path}")
            settings = {"run": {"seed": seed, "max_minutes": self._minutes}}
            selfplay.train(settings, game=GAME, network=NETWORK, preset="board", checkpoint=run.path, resume=begun)
        rows = [json.loads(line) for line in run.metrics.read_text(encoding="utf-8").splitlines()]
        began = rows[0]["wall"] - rows[0]["time/collect_s"] - rows[0]["time/update_s"]
        minutes = {row["iteration"]: (row["wall"] - began) / 60 for row in rows}
        curve = []
        for generation in list_generations(run):
            found = selfplay.evaluate(
                generation.path, "alpha_beta", games=self._games, game=GAME, seed=seed, greedy=True
            )
            result = {name: getattr(found, name) for name in ("score", "low", "high", "wins", "draws", "losses")}
            curve.append({"minutes": round(minutes.get(generation.iteration, 0.0), 2), **result})
            notify(f"{generation.path}: {curve[-1]['minutes']} minutes, {interval(result)}")
        shares = share_of_optimal(greedy(load_policy(generation.path)), self._positions, self._solver)
        return {
            "seed": seed, "minutes": self._minutes, "games": self._games,
            "steps": rows[-1]["total_steps"], **machine_here(),
            "curve": curve, "optimal": [asdict(each) for each in shares],
        }  # fmt: skip

    @cached_property
    def _positions(self) -> list[list[Position]]:
        """Of games of alpha-beta against itself, so that they are the same for all."""
        rng = np.random.default_rng(0)

        def search(position: Position) -> int:
            return alpha_beta.choose(position, DEPTH, rng)

        return collect([(search, search)] * SOLVED)


def greedy(policy: Policy) -> Choose:
    """A player that makes the most probable legal move of a policy."""

    def choose(position: Position) -> int:
        seat = np.eye(2, dtype=np.float32)[position.stones % 2]
        obs = np.concatenate([position.planes.astype(np.float32).ravel(), seat])
        legal = np.isin(np.arange(COLUMNS), position.legal)
        return int(policy.act(obs[None], legal=legal[None], greedy=True)[0, 0])

    return choose


def write(cells: Sequence[Cell]) -> None:
    """Put curve and tables into docs/connect_four.md."""
    docs = ROOT / "docs"
    curves = []
    for cell in cells:
        x, y, low, high = ([point[name] for point in cell["curve"]] for name in ("minutes", "score", "low", "high"))
        curves.append(Curve(f"seed {cell['seed']}", x, y, low, high))
    plot = Plot(curves, "minutes of training on two cores", "points against alpha-beta", [("80%", 0.8)])
    write_file(docs / "data" / "connect_four.svg", lines(plot).encode())
    rows = [
        (cell["seed"], f"{cell['steps']:,}", interval(last), last["wins"], last["draws"],
         last["losses"])
        for cell in cells for last in cell["curve"][-1:]
    ]  # fmt: skip
    results = table(("seed", "steps", "points", "won", "drawn", "lost"), rows)
    stones = sorted({(share["fewest"], share["most"]) for cell in cells for share in cell["optimal"]})
    columns = [{share["fewest"]: share for share in cell["optimal"]} for cell in cells]
    optimal = [
        (
            f"{fewest} to {most}", columns[0][fewest]["positions"], f"{columns[0][fewest]['random']:.0%}",
            *(f"{column[fewest]['optimal']['score']:.0%}" for column in columns),
        )
        for fewest, most in stones
    ]  # fmt: skip
    names = [f"seed {cell['seed']}" for cell in cells]
    shares = table(("stones", "positions", "random moves", *names), optimal)
    put_between(docs / "connect_four.md", "results", f"{results}\n\n{shares}")


def main() -> int:
    """Run the command; the exit code."""
    command = Command("connect_four", __doc__)
    command.add_seeds()
    command.add_argument("--minutes", type=float, default=10.0, metavar="F", help="of a training (default 10)")
    command.add_argument("--games", type=int, default=200, metavar="N", help="of a generation (default 200)")
    command.add_parts(PARTS)
    command.add_argument(
        "--runs", type=Path, default=ROOT / "checkpoints" / "connect_four", metavar="DIR", help="(default: %(default)s)"
    )
    return command.execute(run)


def run(options: argparse.Namespace) -> None:
    parts = chosen("--parts", options.parts, PARTS)
    cells = Cells(ROOT / "docs" / "data" / "connect_four.json")
    if "train" in parts:
        study = Study(options.runs, options.minutes, options.games)
        for seed in options.seeds:
            cells.make(
                f"seed_{seed}", partial(study.measure, seed), {"minutes": options.minutes, "games": options.games}
            )
    if "page" in parts:
        write(cells.read(f"seed_{seed}" for seed in options.seeds))


if __name__ == "__main__":
    sys.exit(main())
