"""Train a policy by self-play: the main job. See ``--help`` and docs/guide.md."""

from __future__ import annotations

import sys

from selfplay.verbs import program


def main() -> int:
    """Parse the arguments, then load torch and train; the exit code."""
    from selfplay.cli.game_type import is_dialogue
    from selfplay.cli.running import exit_code

    return exit_code(program(), _train_dialogue if is_dialogue(sys.argv[1:]) else _train_games)


def _train_games() -> int:
    from selfplay.cli.ppo import parse
    from selfplay.config.call import check_call

    call = parse(sys.argv[1:])
    check_call(call)
    from selfplay.ppo.app import train

    return train(call.config, resume=call.resume, explicit=call.explicit, preset=call.preset, notice=call.notice)


def _train_dialogue() -> int:
    from selfplay.cli.dialogue import parse
    from selfplay.config.call import check_call

    call = parse(sys.argv[1:])
    check_call(call)
    from selfplay.dialogue.app import train

    return train(call.config, resume=call.resume, explicit=call.explicit, preset=call.preset)
