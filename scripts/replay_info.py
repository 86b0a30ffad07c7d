"""Print the content of replay files: version, stage, players, frames, end of the game, and problems of the file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.commands.cli.replay_info import main

if __name__ == "__main__":
    sys.exit(main())
