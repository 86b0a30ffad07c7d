"""The verbs of the command ``selfplay``, and how commands in messages are spelled.

Imports the standard library only: ``selfplay doctor`` runs where packages are missing.
"""

from __future__ import annotations

import re
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from selfplay.distribution import entry_points

GROUP: Final = "selfplay.verbs"
"""Entry points of packages that bring verbs of their own: each is a ``Verb``."""


class Verb(NamedTuple):
    """A verb: the module whose ``main`` runs it, and its description."""

    module: str
    text: str


OWN: Final = {
    "train": Verb("selfplay.commands.cli.train", "train a policy by self-play"),
    "sweep": Verb("selfplay.commands.cli.sweep", "train settings by seeds, and say which is strongest"),
    "imitate": Verb("selfplay.commands.cli.imitate", "train a policy to imitate the players of recorded games"),
    "record": Verb("selfplay.commands.cli.record", "record games for imitation"),
    "evaluate": Verb("selfplay.commands.cli.evaluate", "play two players against each other"),
    "rate": Verb("selfplay.commands.cli.rate", "play more rating games for a run"),
    "leaderboard": Verb("selfplay.commands.cli.leaderboard", "show the ratings of a run, or of games of any program"),
    "exploit": Verb(
        "selfplay.commands.cli.exploit", "train policies against one policy: a lower bound on its exploitability"
    ),
    "export": Verb("selfplay.commands.cli.export", "write a policy as ONNX or as a graph of torch.export"),
    "push": Verb("selfplay.commands.cli.push", "upload a policy to the Hugging Face Hub"),
    "play": Verb("selfplay.commands.cli.play", "play against a policy yourself: on a page or in the terminal"),
    "tree": Verb("selfplay.commands.cli.tree", "show the supervision tree and the crashes of a run"),
    "doctor": Verb("selfplay.commands.cli.doctor", "check this machine"),
    "check-game": Verb("selfplay.commands.cli.check_game", "check a game of your own, and measure it"),
    "selfcheck": Verb("selfplay.commands.cli.selfcheck", "check training on games with known solutions"),
}


@cache
def verb_names() -> tuple[str, ...]:
    """Names of all verbs, with those of installed packages, of which none is loaded."""
    return tuple(dict.fromkeys((*OWN, *entry_points(GROUP))))


def find_verb(name: str) -> Verb:
    """The verb of that name, one of ``verb_names``."""
    found: Verb = OWN[name] if name in OWN else entry_points(GROUP)[name].load()
    return found


WORDS: Final = {
    "eval": "evaluate",
    "enjoy": "watch",
    "replay": "watch",
    "render": "watch",
    "ratings": "leaderboard",
    "elo": "leaderboard",
    "fit": "train",
    "bc": "imitate",
    **dict.fromkeys(("tune", "grid", "search", "hpo", "optuna"), "sweep"),
    "train_self_play": "train",
    "train_from_replays": "imitate",
    "record_replays": "record",
    "generate_selfplay_games": "generate-games",
    "convert_selfplay_to_verl": "convert-games",
    "dialop_game_init": "initial-states",
    "resume": "train --resume",
    "continue": "train --resume",
}
"""Verbs by words that other programs, or scripts, have for them."""
LISTS: Final = (
    "{0} --help lists the verbs, ls checkpoints the runs, {0} leaderboard RUN the policies of a run, and "
    "{0} train --character list the characters"
)
"""What to type in place of a verb ``list``; {0} is the command."""
COMMANDS: Final = ("selfplay", "python -m selfplay")


def program() -> str:
    """The name of this program in its messages: ``train_self_play.py``, or ``selfplay train``."""
    return Path(sys.argv[0]).name


def quoted(path: Path) -> str:
    """A path as part of a command line that the user can paste into a shell."""
    return shlex.quote(str(path))


def respelled(text: str) -> str:
    """A text with commands as the user can type them.

    ``selfplay watch`` stays where the user typed ``selfplay``. It becomes ``python -m selfplay watch`` in programs that
    were started by ``python -m selfplay`` or by a script, since the command is then perhaps not on the path.
    """
    if program().startswith("selfplay "):
        return text
    command = rf"(?<![\w/-])(?<!python -m )selfplay (?=(?:{'|'.join(verb_names())})\b)"
    return re.sub(command, "python -m selfplay ", text)
