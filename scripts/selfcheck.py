"""Check that training learns: play games with known answers, and say how far from unbeatable what they gave is."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.commands.cli.selfcheck import main

if __name__ == "__main__":
    sys.exit(main())
