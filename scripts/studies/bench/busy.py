"""Measure the speed of the training loop while another process spins on a core."""

from __future__ import annotations

import subprocess
import sys
from statistics import median
from typing import TYPE_CHECKING

from scripts.studies.bench.loop import with_tree
from scripts.studies.bench.show import add_output, show
from scripts.studies.bench.speed import ROWS
from scripts.studies.command_line import Command
from scripts.studies.pages import measured_here

if TYPE_CHECKING:
    import argparse


def main() -> int:
    """Run the command; the exit code."""
    command = Command("bench.busy", __doc__)
    command.add_argument("--rounds", type=int, default=5, metavar="N", help="samples of each (default: %(default)s)")
    add_output(command)
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    with_tree()  # compile, allocate, warm up
    free, busy = [], []
    for _ in range(options.rounds):
        free.append(ROWS / median(with_tree().total))
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinner:
            try:
                busy.append(ROWS / median(with_tree().total))
            finally:
                spinner.kill()
    figures = {
        **measured_here(),
        "free_agent_steps_per_s": median(free),
        "busy_agent_steps_per_s": median(busy),
        "share_kept": median(b / f for b, f in zip(busy, free, strict=True)),
    }
    show(options, figures, "bench_busy.json", "busy")


if __name__ == "__main__":
    sys.exit(main())
