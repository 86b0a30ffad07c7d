"""Train a policy by self-play: the main job. See ``--help`` and docs/guide.md."""

from __future__ import annotations

import os
import sys

from selfplay.verbs import program


def run() -> int:
    from selfplay.config.family import is_dialogue

    arguments = sys.argv[1:]
    if is_dialogue(arguments):
        return _train_dialogue(arguments)
    from selfplay.config.fighting_cli import parse

    invocation = parse(arguments)
    from selfplay.train.app import train

    return train(
        invocation.config,
        resume=invocation.resume,
        explicit=invocation.explicit,
        preset=invocation.preset,
    )


def _train_dialogue(arguments: list[str]) -> int:
    """Train a dialogue game."""
    from selfplay.config.dialogue_cli import parse

    invocation = parse(arguments)
    from selfplay.train.dialogue.app import train

    return train(
        invocation.config,
        resume=invocation.resume,
        explicit=invocation.explicit,
        preset=invocation.preset,
    )


def main() -> int:
    # Threads that wait must sleep, not spin: on a shared machine spinning costs far more than waking up.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's, which spin whatever they are told
    from selfplay.config.command_line import exit_code

    return exit_code(program(), run)
