"""Measure the bridge to Dolphin: beside libmelee alone, with a policy's answers, and with several games at 60 frames/s.

By default the fake Dolphin plays, which needs no disc. A real Dolphin is only measured without a frame limit.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from scripts.studies.bench.show import add_output, show
from scripts.studies.command_line import Command, tell_error
from scripts.studies.pages import measured_here
from selfplay.errors import ConfigError

if TYPE_CHECKING:
    import argparse


def main() -> int:
    """Run the command; the exit code."""
    command = Command("bench.dolphin", __doc__)
    command.add_argument("--rounds", type=int, default=60, metavar="N", help="samples of each (default: %(default)s)")
    command.add_argument(
        "--seconds", type=float, default=30.0, metavar="S", help="of play at 60 frames/s (default: %(default)s)"
    )
    command.add_argument("--dolphin", metavar="PATH", help="a real Dolphin: its folder or executable")
    command.add_argument("--iso", metavar="PATH", help="its disc image")
    add_output(command)
    return command.execute(_run)


def _run(options: argparse.Namespace) -> None:
    if options.rounds < 1 or options.seconds <= 0:
        raise ConfigError("--rounds must be at least 1, --seconds more than 0")
    if (options.dolphin is None) != (options.iso is None):
        raise ConfigError("--dolphin and --iso go together")
    from envs.melee.dolphin.install import check_disc, find_executable
    from scripts.studies.bench.bridge import PACE, Place, paced, unpaced
    from tests.support.fake_dolphin.disc import Disc
    from tests.support.fake_dolphin.write import write_stand_in

    figures = measured_here()
    with tempfile.TemporaryDirectory() as folder:
        if options.dolphin is not None:
            place = Place(find_executable(options.dolphin), check_disc(options.iso))
            figures |= unpaced(place, options.rounds, tell_error)
        else:
            fast = write_stand_in(Path(folder) / "fast", Disc())
            slow = write_stand_in(Path(folder) / "paced", Disc(pace=PACE))
            figures |= unpaced(Place(*fast), options.rounds, tell_error)
            figures |= paced(Place(*slow), options.seconds, tell_error)
    show(options, figures, "dolphin_bench.json", "dolphin bench", page="dolphin.md")


if __name__ == "__main__":
    sys.exit(main())
