"""Let a model play games against itself and write them to selfplay_games.jsonl and settings.json."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "envs"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.entry import run

if __name__ == "__main__":
    sys.exit(run("generate-games"))
