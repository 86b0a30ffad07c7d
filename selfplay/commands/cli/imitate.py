"""Train a policy by imitation of the players of .slp replays. See ``--help`` and docs/imitation.md."""

from __future__ import annotations

import sys

from selfplay.verbs import program


def main() -> int:
    from selfplay.cli.running import exit_code

    return exit_code(program(), _imitate)


def _imitate() -> int:
    from selfplay.cli.imitation import parse
    from selfplay.config.call import check_call

    call = parse(sys.argv[1:])
    check_call(call)
    from selfplay.imitation.app import train

    return train(call.config, resume=call.resume, explicit=call.explicit, preset=call.preset)
