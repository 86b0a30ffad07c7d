"""Kuhn poker in text against past opponents; writes docs/data/text_opponents.json.

Trains the embedded model with both seats current (``latest``) and against past generations (``past``), with the same
supervised start for each seed, and keeps the exact NashConv of the start, of the newest generation and of the mixture
of all. A finished cell is not measured again.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

from scripts.studies import ROOT
from scripts.studies.cells import Cells
from scripts.studies.command_line import Command, tell_error
from scripts.studies.pages import versions
from selfplay.dialogue.cli.flags import parse
from selfplay.dialogue.train import train
from selfplay.errors import SelfPlayError

DOCUMENT: Final = ROOT / "docs" / "data" / "text_opponents.json"
SEEDS: Final = (0, 1, 2)
VARIANTS: Final[dict[str, tuple[str, ...]]] = {
    "latest": (),
    "past": ("--mode", "delta_uniform", "--held-out", "random,honest,equilibrium"),
}


def measure(variant: str, seed: int, games: int) -> dict[str, Any]:
    """Train a run, and read its summary. Blocks."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        arguments = ("--game-type", "kuhn_text", "--games", str(games), "--seed", str(seed), "--evaluation-states", "0")
        if train(parse([*arguments, *VARIANTS[variant], "--checkpoint", str(run)])):
            raise SelfPlayError(f"{variant} {seed} was interrupted")
        summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    kept = ("nash_conv", "elapsed_s", "games", "processor")
    return {"versions": versions(), "budget": games, **{name: summary.get(name) for name in kept}}


def main() -> None:
    command = Command("text_opponents", __doc__)
    command.add_argument("--games", type=int, default=12_288, help="games of a run (default: %(default)s)")
    options, cells = command.parse_args(), Cells(DOCUMENT)
    for seed in SEEDS:
        for variant in VARIANTS:
            tell_error(f"{variant}, seed {seed}")
            cells.make(f"{variant}-{seed}", partial(measure, variant, seed, options.games))


if __name__ == "__main__":
    main()
