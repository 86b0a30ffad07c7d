"""Train a policy by self-play: the main job. See ``--help`` and docs/trainer/guide.md."""

from __future__ import annotations

import sys

from selfplay.verbs import program


def main() -> int:
    from selfplay.cli.game_type import is_dialogue
    from selfplay.cli.running import exit_code

    return exit_code(program(), _train_dialogue if is_dialogue(sys.argv[1:]) else _train_games)


def _train_games() -> int:
    from selfplay.cli.ppo import parse
    from selfplay.ppo.train import train

    return train(parse(sys.argv[1:]))


def _train_dialogue() -> int:
    from selfplay.dialogue.cli.flags import parse
    from selfplay.dialogue.train import train

    return train(parse(sys.argv[1:]))
