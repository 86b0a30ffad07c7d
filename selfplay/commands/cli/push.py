"""Upload a policy to the Hugging Face Hub, with a model card: ratings, seed, training command, and a film of fights."""

from __future__ import annotations

import argparse

from selfplay.cli.parser import Parser, add_own_code
from selfplay.commands.cli import command


def parser() -> argparse.ArgumentParser:
    made = Parser(description=__doc__)
    made.add_argument(
        "what",
        metavar="RUN_OR_POLICY",
        help="a run or a policy: its folder, its name in checkpoints/, or a shipped policy such as strong",
    )
    made.add_argument("name", metavar="NAME", help="repository on the Hub: OWNER/NAME, or NAME of your own")
    made.add_argument("--private", action="store_true", help="a new repository is private")
    add_own_code(made)
    return made


@command(parser)
def main(options: argparse.Namespace) -> None:
    from selfplay.commands.push import push

    print(push(options.what, options.name, private=options.private))
