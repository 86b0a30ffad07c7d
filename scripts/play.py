"""Fight a policy yourself, on a page for the browser."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from selfplay.commands.cli.play import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(ROOT / "checkpoints"))
