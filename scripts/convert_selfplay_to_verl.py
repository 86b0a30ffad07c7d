"""Convert the games of a folder to train.parquet and val.parquet, with a row for each seat of a game."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "envs"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.entry import run

if __name__ == "__main__":
    sys.exit(run("convert-games"))
