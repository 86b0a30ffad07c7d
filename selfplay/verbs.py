"""The verbs of the command ``selfplay``, the scripts of the same name, and which of the two the user typed.

Imports the standard library only: ``selfplay doctor`` runs where packages are missing.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

VERBS: Final = {
    "train": "train a policy by self-play",
    "imitate": "train a policy by imitation of the players of replays",
    "evaluate": "play two players against each other",
    "rate": "play more rating games for a run",
    "leaderboard": "show the ratings of a run, or write them as a page",
    "exploit": "train policies against one policy: how exploitable is it, at least?",
    "export": "write a policy as ONNX or as a graph of torch.export",
    "watch": "watch a fight or a replay: page, GIF, MP4 or terminal",
    "record": "record games of the mock as replays",
    "behaviour": "count what players of replays and a policy do",
    "replay-info": "say what is in replay files",
    "tree": "show the supervision tree of a run, and its crashes",
    "doctor": "examine this machine",
    "selfcheck": "check on games with known answers that training learns",
    "inspect-dialogue": "print one dialogue game with its masks",
    "generate-games": "let a language model play dialogue games with itself",
    "convert-games": "make tables for verl of those games",
    "train-dialogue": "train the model on those tables",
    "initial-states": "write initial states of the matching game as tables",
}
"""What each does. The module of a verb is ``selfplay.commands.cli.VERB``, with underscores."""

_SCRIPTS: Final = {
    "train": "train_self_play",
    "imitate": "train_from_replays",
    "record": "record_replays",
    "generate-games": "generate_selfplay_games",
    "convert-games": "convert_selfplay_to_verl",
    "initial-states": "dialop_game_init",
}
SCRIPTS: Final = {_SCRIPTS.get(verb, verb.replace("-", "_")): verb for verb in VERBS}
"""Verbs by the names of their scripts."""
COMMANDS: Final = ("selfplay", "python -m selfplay")


def program() -> str:
    """The name of this program in its messages: ``train_self_play.py``, or ``selfplay train``."""
    return Path(sys.argv[0]).name


def respelled(text: str) -> str:
    """A text whose commands are as the user types them.

    ``python scripts/watch.py`` becomes ``selfplay watch`` in a process that the command ``selfplay`` started.
    """
    command = program().rpartition(" ")[0]
    if command not in COMMANDS:
        return text
    return re.sub(
        rf"(?<![\w/])(?:python )?scripts/({'|'.join(SCRIPTS)})\.py",
        lambda found: f"{command} {SCRIPTS[found[1]]}",
        text,
    )
