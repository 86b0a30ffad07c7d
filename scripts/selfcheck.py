"""Train on games with known solutions and report the distance of the policies from equilibrium."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.commands.cli.selfcheck import main

if __name__ == "__main__":
    sys.exit(main())
