"""Play more rating games for a run, or rate the scripted players under its settings."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from selfplay.commands.cli.rate import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(ROOT / "checkpoints"))
