"""Write a policy as ONNX or as a graph of torch.export, and compare its outputs with the policy's."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from selfplay.commands.cli.export import main

if __name__ == "__main__":
    sys.exit(main())
