"""Watch a fight, a replay file or a game of two players of a run, as a page, GIF or MP4, or in the terminal."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from selfplay.commands.cli.watch import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(ROOT / "checkpoints"))
