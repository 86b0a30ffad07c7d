"""Train on stand-ins for Dolphin in which everything goes wrong at random times; judge what became of it."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def main() -> int:
    """Run, print, exit code: 1 where something was not as it should be."""
    parser = argparse.ArgumentParser(prog="dolphin_soak.py", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, metavar="F", help="(default: %(default)s)")
    parser.add_argument("--num-games", type=int, default=4, metavar="N", help="stand-ins (default: %(default)s)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where all files go, and stay; it must not exist")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/")
    options = parser.parse_args()
    if options.minutes <= 0 or options.num_games < 1 or (options.folder and options.folder.exists()):
        print("dolphin_soak.py: --minutes and --num-games must be above 0, --folder a new folder", file=sys.stderr)
        return 2
    from selfplay.trainer.cli import exit_when_told
    from selfplay.trainer.dolphin_soak import failures, soak, table
    from selfplay.trainer.machine import processor, usable_cores
    from selfplay.trainer.pages import put_between

    exit_when_told()  # so that the trainer ends with us
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary) / "soak").absolute()
        figures = soak(folder, options.minutes, options.num_games, lambda text: print(text, file=sys.stderr))
    figures |= {"processor": processor(), "cores": usable_cores()}
    wrong = failures(figures)
    text = json.dumps({**figures, "failures": wrong}, indent=1)
    print(text)
    if options.write:
        (ROOT / "docs/data/dolphin_soak.json").write_text(f"{text}\n", encoding="utf-8")
        put_between(ROOT / "docs/dolphin.md", "dolphin soak", table(figures))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
