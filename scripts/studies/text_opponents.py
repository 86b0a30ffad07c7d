"""Kuhn poker in text against past opponents; writes a table of docs/dialogue/internals/results.md.

Trains the embedded model with both seats current (``latest``) and against past generations (``past``), with the same
supervised start for each seed, and measures the exact NashConv of the start, of the newest generation and of the
mixture of all. Finished cells in docs/data/text_opponents.json are used again.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scripts.studies import ROOT
from scripts.studies.cells import Cells
from scripts.studies.command_line import Command, notify, whole_numbers
from scripts.studies.pages import machine_here, put_between, shown, table
from selfplay.dialogue.cli.flags import parse
from selfplay.dialogue.train import train
from selfplay.errors import SelfPlayError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

DOCUMENT: Final = ROOT / "docs" / "data" / "text_opponents.json"
PAGE: Final = ROOT / "docs" / "dialogue" / "internals/results.md"
VARIANTS: Final[dict[str, tuple[str, ...]]] = {
    "latest": (),
    "past": ("--mode", "delta_uniform", "--held-out", "random,honest,equilibrium"),
}
PLAYERS: Final = {"average": "mixture of all generations", "newest": "newest"}


def measure(variant: str, seed: int, games: int) -> dict[str, Any]:
    """Train a run, and read its summary. Blocks."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        arguments = ("--game-type", "kuhn_text", "--games", str(games), "--seed", str(seed), "--evaluation-states", "0")
        if train(parse([*arguments, *VARIANTS[variant], "--checkpoint", str(run)])):
            raise SelfPlayError(f"{variant} {seed} was interrupted")
        summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    return {**machine_here(), **{name: summary[name] for name in ("nash_conv", "elapsed_s", "games")}}


def text(cells: Cells, seeds: Sequence[int]) -> str:
    """A row for each variant and number of games that is finished for all seeds, in Markdown."""
    lengths = sorted({int(name.split()[1]) for name in cells.names("*")})
    rows = []
    for games, variant in itertools.product(lengths, VARIANTS):
        found = cells.read(key(variant, games, seed) for seed in seeds)
        if len(found) == len(seeds):
            figures = (", ".join(shown(cell["nash_conv"][player]) for cell in found) for player in PLAYERS)
            rows.append((shown(games), f"`{variant}`", *figures))
    return table(("games", "opponents", *PLAYERS.values()), rows)


def key(variant: str, games: int, seed: int) -> str:
    return f"{variant} {games} seed {seed}"


def main() -> int:
    command = Command("text_opponents", __doc__)
    command.add_seeds()
    lengths = "12288,24576,49152"
    command.add_argument("--games", type=whole_numbers, default=lengths, help="of the runs (default: %(default)s)")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    cells = Cells(DOCUMENT)
    for games, seed, variant in itertools.product(options.games, options.seeds, VARIANTS):
        notify(name := key(variant, games, seed))
        cells.make(name, partial(measure, variant, seed, games))
    put_between(PAGE, "text opponents", text(cells, options.seeds))


if __name__ == "__main__":
    sys.exit(main())
