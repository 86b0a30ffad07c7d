"""Train a policy by imitation of the players of .slp replays. See ``--help`` and docs/imitation.md."""

from __future__ import annotations

from selfplay.commands.cli.train import run
from selfplay.verbs import program


def main() -> int:
    from selfplay.config.command_line import exit_code

    return exit_code(program(), lambda: run("imitation"))
