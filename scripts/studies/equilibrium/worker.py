"""Measure one cell in a process of its own: ``python -m scripts.studies.equilibrium.worker GAME METHOD SEED MINUTES``.

Prints a line of JSON. Started by ``scripts.studies.equilibrium`` with the Python that has the packages of the method.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
import time
from importlib import import_module
from typing import Any, Final

from scripts.studies.equilibrium.games import Tree
from scripts.studies.equilibrium.meter import Meter
from scripts.studies.equilibrium.names import OURS

PACKAGES: Final = ("open_spiel", "numpy", "torch", "jax")


def main() -> None:
    """Enumerate the game, train, and print the figures."""
    game, method, seed, minutes = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    module = import_module(f"scripts.studies.equilibrium.{'ours' if method.startswith(OURS) else method}")
    _one_thread()
    began = time.process_time()
    tree = Tree(game)
    uniform = tree.nash_conv(tree.uniform)
    meter = Meter(tree, 60 * minutes, time.process_time() - began)
    if method.startswith(OURS):
        module.train(tree, method.removeprefix(OURS), seed, meter)
    else:
        module.train(tree, seed, meter)
    print(json.dumps({**_about(tree, module), "uniform": uniform, "points": meter.points}))


def _one_thread() -> None:
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


def _about(tree: Tree, module: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "spiel": tree.spiel,
        "nodes": tree.nodes,
        "information_states": len(tree.states),
        "source": getattr(module, "SOURCE", "selfplay train"),
        "settings": module.SETTINGS,
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Of this Python and of the packages that it has; of this project, if the method is of it."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if ours := sys.modules.get("selfplay.distribution"):
        found["selfplay"] = ours.version()
    return found


if __name__ == "__main__":
    main()
