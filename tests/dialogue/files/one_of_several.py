"""One process of several that train from a folder, in the environment that torchrun gives them."""

import json
import sys
from pathlib import Path

from selfplay.dialogue.files.training import TrainingSettings, train

if __name__ == "__main__":
    train(Path(sys.argv[1]), TrainingSettings(**json.loads(sys.argv[2])), "cpu", False, print)
