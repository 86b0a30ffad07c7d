"""CFR+ of OpenSpiel, which walks the whole game in every iteration: what a method with the whole game reaches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pyspiel

if TYPE_CHECKING:
    from scripts.studies.equilibrium.games import F64, Tree
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
            began = time.process_time()
            policies = _table(tree, solver.current_policy()), _table(tree, solver.average_policy())
            meter.paused(began)
            meter.add(iterations, *policies)


def _table(tree: Tree, policy: Any) -> F64:  # noqa: ANN401
    return tree.tabulated(policy.action_probabilities)
