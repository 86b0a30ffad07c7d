"""Train a policy by imitation of the players of recorded games. See ``--help`` and docs/trainer/imitation.md."""

from __future__ import annotations

import sys

from selfplay.verbs import program


def main() -> int:
    from selfplay.cli.imitation import parse
    from selfplay.cli.running import exit_code
    from selfplay.imitation.train import train

    return exit_code(program(), lambda: train(parse(sys.argv[1:])))
