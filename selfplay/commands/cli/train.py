"""Train a policy by self-play: the main job. See ``--help`` and docs/guide.md."""

from __future__ import annotations

import sys
from importlib import import_module

from selfplay.verbs import program

APPS = {
    "ppo": "selfplay.ppo.app",
    "dialogue": "selfplay.dialogue.app",
    "imitation": "selfplay.imitation.app",
}


def run(trainer: str) -> int:
    """Parse the arguments, then load torch and train; the exit code."""
    call = import_module(f"selfplay.config.{trainer}_cli").parse(sys.argv[1:])
    import_module("selfplay.config.call").check_call(call)
    train = import_module(APPS[trainer]).train
    more = {} if call.notice is None else {"notice": call.notice}
    code: int = train(call.config, resume=call.resume, explicit=call.explicit, preset=call.preset, **more)
    return code


def main() -> int:
    from selfplay.config.command_line import exit_code
    from selfplay.config.game_type import is_dialogue

    return exit_code(program(), lambda: run("dialogue" if is_dialogue(sys.argv[1:]) else "ppo"))
