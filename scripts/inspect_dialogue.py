"""Print one dialogue game with its masks in columns, from a file or played by a model."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "envs"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.entry import run

if __name__ == "__main__":
    sys.exit(run("inspect-dialogue"))
