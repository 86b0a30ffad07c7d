"""Examine this machine: what training needs, and what real games in Dolphin need, a line each with its remedy."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.commands.cli.doctor import main

if __name__ == "__main__":
    sys.exit(main())
