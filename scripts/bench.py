"""Measure speed and memory on one fixed configuration, beside the bounds that its arithmetic sets."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="bench.py", description=__doc__)
    made.add_argument("--game-type", metavar="TYPE", help="a game of words (default: the mock fighter)")
    made.add_argument("--rounds", type=int, metavar="N", help="samples of each (default: 10, or 5 of games of words)")
    made.add_argument(
        "--replays",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help=".slp files to read (default: games that the mock writes)",
    )
    made.add_argument("--write", action="store_true", help="put the figures into docs/")
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


def main() -> int:
    """Measure, print, exit code."""
    options = parser().parse_args()
    if options.rounds is not None and options.rounds < 1:
        print("bench.py: --rounds must be at least 1", file=sys.stderr)
        return 2
    from envs.errors import GameError
    from selfplay.errors import SelfPlayError
    from selfplay.trainer.pages import shown, write_page

    try:
        figures = _measure(options)
    except (GameError, SelfPlayError, OSError) as error:
        print(f"bench.py: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:36} {shown(value)}")
    if options.write:
        file, place = ("bench.json", "measured") if options.game_type is None else ("bench_dialogue.json", "dialogue")
        write_page(ROOT / "docs", file, place, figures)
    return 0


def _measure(options: argparse.Namespace) -> dict[str, float | int | str]:
    def say(text: str) -> None:
        print(text, file=sys.stderr)

    if options.game_type is None:
        from selfplay.trainer.bench import measure

        return measure(options.rounds or 10, say, options.replays)
    from selfplay.trainer.dialogue.bench import measure_dialogue

    return measure_dialogue(options.game_type, options.rounds or 5, say)


if __name__ == "__main__":
    sys.exit(main())
