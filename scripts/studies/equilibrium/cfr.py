"""CFR+ of OpenSpiel, which walks the whole game in every iteration: what a method with the whole game reaches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyspiel

if TYPE_CHECKING:
    from scripts.studies.equilibrium.games import Tree
    from scripts.studies.equilibrium.meter import Meter

SOURCE = "pyspiel.CFRPlusSolver"
SETTINGS: dict[str, Any] = {}


def train(tree: Tree, seed: int, meter: Meter) -> None:
    """Iterate until the time is up. Nothing is drawn at random, so all seeds give one result."""
    del seed
    solver, iterations = pyspiel.CFRPlusSolver(tree.game), 0
    while not meter.finished:
        solver.evaluate_and_update_policy()
        iterations += 1
        if meter.due:
            last, average = solver.current_policy(), solver.average_policy()
            meter.add(
                iterations,
                partial(tree.tabulated, last.action_probabilities),
                partial(tree.tabulated, average.action_probabilities),
            )
