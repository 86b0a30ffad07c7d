"""Train a policy by imitation of the players of .slp replays. See ``--help`` and docs/imitation.md."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
# Threads that wait must sleep, not spin: on a shared machine spinning costs far more than waking up.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's, which spin whatever they are told


def run() -> int:
    """Parse, train, exit code."""
    from selfplay.trainer.imitation.cli import parse

    invocation = parse(sys.argv[1:])
    from selfplay.trainer.imitation.app import train

    return train(
        invocation.config,
        resume=invocation.resume,
        explicit=invocation.explicit,
        preset=invocation.preset,
    )


def main() -> int:
    """Run the command; the exit code."""
    from selfplay.trainer.cli import exit_code

    return exit_code("train_from_replays.py", run)


if __name__ == "__main__":
    sys.exit(main())
