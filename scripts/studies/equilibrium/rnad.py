"""R-NaD of OpenSpiel 1.5, since 2.0.2 has none, with its default settings; it needs JAX."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from open_spiel.python.algorithms.rnad import rnad

if TYPE_CHECKING:
    from scripts.studies.equilibrium.games import Tree
    from scripts.studies.equilibrium.meter import Meter

SOURCE: Final = "open_spiel/python/algorithms/rnad/rnad.py of 1.5"
SETTINGS: Final[dict[str, Any]] = {"trajectory_max": "the longest game"}  # 10 decisions by default, too few for some


def train(tree: Tree, seed: int, meter: Meter) -> None:
    """Play and learn until the time is up. Its policy is that of the target network, a moving average of weights."""
    longest = tree.game.max_game_length()
    solver = rnad.RNaDSolver(rnad.RNaDConfig(game_name=tree.spiel, trajectory_max=longest, seed=seed))
    while not meter.finished:
        solver.step()
        if meter.due:
            meter.add(solver.actor_steps, partial(tree.tabulated, solver.action_probabilities))
