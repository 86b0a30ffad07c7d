"""Train a policy by self-play: the main job. See ``--help`` and docs/trainer/guide.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "envs"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.entry import run

if __name__ == "__main__":
    sys.exit(run("train"))
