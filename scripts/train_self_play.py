"""Train a policy by self-play: the main job. See ``--help`` and docs/guide.md."""

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
    from selfplay.trainer.family import is_dialogue

    arguments = sys.argv[1:]
    if is_dialogue(arguments):
        return _words(arguments)
    from selfplay.trainer.cli import parse

    invocation = parse(arguments)
    from selfplay.trainer.app import train

    return train(
        invocation.config,
        resume=invocation.resume,
        explicit=invocation.explicit,
        preset=invocation.preset,
    )


def _words(arguments: list[str]) -> int:
    """The same, of the games of words."""
    from selfplay.trainer.dialogue.cli import parse

    invocation = parse(arguments)
    from selfplay.trainer.dialogue.app import train

    return train(
        invocation.config,
        resume=invocation.resume,
        explicit=invocation.explicit,
        preset=invocation.preset,
    )


def main() -> int:
    """Run the command; the exit code."""
    from selfplay.trainer.cli import exit_code

    return exit_code("train_self_play.py", run)


if __name__ == "__main__":
    sys.exit(main())
