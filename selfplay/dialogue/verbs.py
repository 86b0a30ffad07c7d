"""The verbs of text games. Imports the standard library only."""

from typing import Final

from selfplay.verbs import Verb

INSPECT: Final = Verb("selfplay.dialogue.cli.inspect_dialogue", "print one dialogue game with its masks")
GENERATE: Final = Verb("selfplay.dialogue.cli.generate_games", "let a language model play dialogue games with itself")
CONVERT: Final = Verb("selfplay.dialogue.cli.convert_games", "convert these games to tables for verl")
TRAIN: Final = Verb("selfplay.dialogue.cli.train_dialogue", "train the model on these tables")
STATES: Final = Verb("selfplay.dialogue.cli.initial_states", "write initial states of a dialogue game as tables")
