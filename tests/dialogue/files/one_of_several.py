"""One process of several that train from a folder, in the environment that torchrun gives them."""

import sys
from pathlib import Path

from selfplay.dialogue.files.training import TrainingSettings, train

if __name__ == "__main__":
    train(Path(sys.argv[1]), TrainingSettings(batch_rows=7, micro_rows=2), "cpu", False, print)
