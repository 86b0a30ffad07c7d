"""Show the supervision tree of a run and its crashes, during training and afterwards. Needs no torch."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from selfplay.commands.cli.tree import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(ROOT / "checkpoints"))
