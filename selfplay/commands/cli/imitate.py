"""Train a policy by imitation of the players of .slp replays. See ``--help`` and docs/imitation.md."""

from __future__ import annotations

import sys

from selfplay.verbs import program


def main() -> int:
    from selfplay.cli.running import exit_code

    return exit_code(program(), _imitate)


def _imitate() -> int:
    from selfplay.cli.imitation import parse
    from selfplay.imitation.train import train

    return train(parse(sys.argv[1:]))
