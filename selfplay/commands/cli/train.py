"""Train a policy by self-play: the main job. See ``--help`` and docs/trainer/guide.md."""

from __future__ import annotations

import sys

from selfplay.verbs import program


def main() -> int:
    from selfplay.cli.game_type import game_of_line, training_of
    from selfplay.cli.running import exit_code
    from selfplay.run.trainings import find_training

    arguments = sys.argv[1:]
    return exit_code(program(), lambda: find_training(training_of(game_of_line(arguments))).train(arguments))
