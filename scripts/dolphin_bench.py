"""Measure the bridge to Dolphin: beside libmelee alone, with a policy's answers, and with several games at 60 frames/s.

By default the stand-in plays, which needs no disc. A real Dolphin is measured unpaced alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="dolphin_bench.py", description=__doc__)
    made.add_argument("--rounds", type=int, default=60, metavar="N", help="samples of each (default: %(default)s)")
    made.add_argument(
        "--seconds", type=float, default=30.0, metavar="S", help="of play at 60 frames/s (default: %(default)s)"
    )
    made.add_argument("--dolphin", metavar="PATH", help="a real Dolphin: its folder or executable")
    made.add_argument("--iso", metavar="PATH", help="the disc image of that")
    made.add_argument("--write", action="store_true", help="put the figures into docs/")
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


def main() -> int:
    """Measure, print, exit code."""
    options = parser().parse_args()
    if options.rounds < 1 or options.seconds <= 0:
        print("dolphin_bench.py: --rounds must be at least 1, --seconds more than 0", file=sys.stderr)
        return 2
    if (options.dolphin is None) != (options.iso is None):
        print("dolphin_bench.py: --dolphin and --iso go together", file=sys.stderr)
        return 2
    from envs.errors import GameError
    from envs.melee.dolphin.install import check_disc, find_executable
    from envs.melee.dolphin.stand_in.disc import Disc
    from envs.melee.dolphin.stand_in.write import write_stand_in
    from selfplay.trainer.dolphin_bench import PACE, Place, machine, paced, unpaced
    from selfplay.trainer.pages import shown, write_page

    def tell(text: str) -> None:
        print(text, file=sys.stderr)

    figures = machine()
    try:
        with tempfile.TemporaryDirectory() as folder:
            if options.dolphin is not None:
                place = Place(find_executable(options.dolphin), check_disc(options.iso))
                figures |= unpaced(place, options.rounds, tell)
            else:
                fast = write_stand_in(Path(folder) / "fast", Disc())
                slow = write_stand_in(Path(folder) / "paced", Disc(pace=PACE))
                figures |= unpaced(Place(*fast), options.rounds, tell)
                figures |= paced(Place(*slow), options.seconds, tell)
    except GameError as error:
        print(f"dolphin_bench.py: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:36} {shown(value)}")
    if options.write:
        write_page(ROOT / "docs", "dolphin_bench.json", "dolphin bench", figures, page="dolphin.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
