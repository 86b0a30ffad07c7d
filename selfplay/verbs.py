"""The verbs of the command ``selfplay``, and how commands in messages are spelled.

Imports the standard library only: ``selfplay doctor`` runs where packages are missing.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Final

VERBS: Final = {
    "train": "train a policy by self-play",
    "imitate": "train a policy to imitate the players of replays or recorded games",
    "evaluate": "play two players against each other",
    "rate": "play more rating games for a run",
    "leaderboard": "show the ratings of a run, or write them as a page",
    "exploit": "train policies against one policy: a lower bound on its exploitability",
    "export": "write a policy as ONNX or as a graph of torch.export",
    "watch": "watch a fight or a replay: page, GIF or terminal",
    "play": "play against a policy yourself: fights on a page for the browser, other games in the terminal",
    "record": "record games for imitation: of the mock as replays, of others as one file",
    "behaviour": "compare statistics of play: players of replays and a policy",
    "replay-info": "print the content of replay files",
    "tree": "show the supervision tree and the crashes of a run",
    "doctor": "check this machine",
    "check-game": "check a game of your own, and measure it",
    "selfcheck": "check training on games with known solutions",
    "inspect-dialogue": "print one dialogue game with its masks",
    "generate-games": "let a language model play dialogue games with itself",
    "convert-games": "convert these games to tables for verl",
    "train-dialogue": "train the model on these tables",
    "initial-states": "write initial states of the matching game as tables",
}
"""Verbs with their descriptions. The module of a verb is ``selfplay.commands.cli.VERB``, with underscores."""

WORDS: Final = {
    "eval": "evaluate",
    "enjoy": "watch",
    "replay": "watch",
    "render": "watch",
    "ratings": "leaderboard",
    "elo": "leaderboard",
    "fit": "train",
    "bc": "imitate",
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
_IN_TEXT: Final = re.compile(rf"(?<![\w/-])(?<!python -m )selfplay (?=(?:{'|'.join(VERBS)})\b)")


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
    return text if program().startswith("selfplay ") else _IN_TEXT.sub("python -m selfplay ", text)
