"""Record games of the mock between scripted players and policies as .slp files, a data set for imitation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.commands.cli.record import main

if __name__ == "__main__":
    sys.exit(main())
