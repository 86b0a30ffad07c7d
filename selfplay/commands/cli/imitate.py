"""Train a policy by imitation of the players of .slp replays. See ``--help`` and docs/imitation.md."""

from __future__ import annotations

import os
import sys

from selfplay.verbs import program


def run() -> int:
    from selfplay.config.imitation_cli import parse

    invocation = parse(sys.argv[1:])
    from selfplay.train.imitation.app import train

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
