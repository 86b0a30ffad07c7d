"""The verbs of fights. Imports the standard library only."""

from typing import Final

from selfplay.verbs import Verb

WATCH: Final = Verb("selfplay_melee.commands.cli.watch", "watch a fight or a replay: page, GIF or terminal")
BEHAVIOUR: Final = Verb(
    "selfplay_melee.commands.cli.behaviour", "compare statistics of play: players of replays and a policy"
)
GHOST: Final = Verb("selfplay_melee.commands.cli.ghost", "make a policy that plays like a person, from recorded games")
REPLAY_INFO: Final = Verb("selfplay_melee.commands.cli.replay_info", "print the content of replay files")
