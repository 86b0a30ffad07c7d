"""Play two players against each other and rate the first: policy folders, runs or scripted players."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.commands.cli.evaluate import main

if __name__ == "__main__":
    sys.exit(main())
