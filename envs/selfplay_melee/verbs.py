"""The verbs of fights. Imports the standard library only."""

from typing import Final

from selfplay.verbs import Verb

VERBS: Final = {
    "watch": Verb("selfplay_melee.commands.cli.watch", "watch a fight or a replay: page, GIF or terminal"),
    "behaviour": Verb(
        "selfplay_melee.commands.cli.behaviour", "compare statistics of play: players of replays and a policy"
    ),
    "replay-info": Verb("selfplay_melee.commands.cli.replay_info", "print the content of replay files"),
}
