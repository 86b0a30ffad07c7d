"""Measure speed and memory on one fixed configuration, beside the bounds that its arithmetic sets."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.studies import ROOT
from scripts.studies.command_line import Command, tell_error
from scripts.studies.pages import shown, write_page
from selfplay.errors import ConfigError
from selfplay.machine import pick_device

if TYPE_CHECKING:
    import argparse


def main() -> int:
    command = Command("bench", __doc__)
    command.add_argument("--game-type", metavar="TYPE", help="a dialogue game (default: the mock fighter)")
    command.add_argument("--device", metavar="NAME", help="where the time of the loop goes on a device, beside the CPU")
    command.add_argument("--rounds", type=int, metavar="N", help="samples of each (default: 10, dialogue games: 5)")
    command.add_argument(
        "--replays",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help=".slp files to read (default: games that the mock writes)",
    )
    command.add_argument(
        "--write", action="store_true", help="put the figures into docs/trainer/internals/performance.md"
    )
    command.add_argument("--json", action="store_true", help="as JSON")
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    if options.rounds is not None and options.rounds < 1:
        raise ConfigError("--rounds must be at least 1")
    if options.device is not None:
        from scripts.studies.bench.device import measure_device

        figures = measure_device(pick_device(options.device), options.rounds or 3)
        file, marker = "bench_device.json", "device"
    elif options.game_type is None:
        from scripts.studies.bench.speed import measure

        figures = measure(options.rounds or 10, tell_error, options.replays)
        file, marker = "bench.json", "measured"
    else:
        from scripts.studies.bench.dialogue import measure_dialogue

        figures = measure_dialogue(options.game_type, options.rounds or 5, tell_error)
        file, marker = "bench_dialogue.json", "dialogue"
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:36} {shown(value)}")
    if options.write:
        write_page(ROOT / "docs", file, marker, figures)


if __name__ == "__main__":
    sys.exit(main())
