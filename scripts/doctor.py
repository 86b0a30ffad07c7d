"""Check this machine for training and for real games in Dolphin, one line per check, with its remedy."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.commands.cli.doctor import main

if __name__ == "__main__":
    sys.exit(main())
