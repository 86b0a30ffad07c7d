"""Write states of the reviewer-paper matching, without conversations, as train.parquet and test.parquet."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "envs"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.entry import run

if __name__ == "__main__":
    sys.exit(run("initial-states"))
