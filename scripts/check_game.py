"""Check a game of your own: what is broken, how fast it is, and where the time goes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.commands.cli.check_game import main

if __name__ == "__main__":
    sys.exit(main())
