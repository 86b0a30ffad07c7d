"""Compare statistics of players in replay files and of a policy in the mock: attacks, shields and more per minute."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.commands.cli.behaviour import main

if __name__ == "__main__":
    sys.exit(main())
