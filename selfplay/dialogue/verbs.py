"""The verbs of text games. Imports the standard library only."""

from typing import Final

from selfplay.verbs import Verb

VERBS: Final = {
    "inspect-dialogue": Verb("selfplay.dialogue.cli.inspect_dialogue", "print one dialogue game with its masks"),
    "generate-games": Verb(
        "selfplay.dialogue.cli.generate_games", "let a language model play dialogue games with itself"
    ),
    "convert-games": Verb("selfplay.dialogue.cli.convert_games", "convert these games to tables for verl"),
    "train-dialogue": Verb("selfplay.dialogue.cli.train_dialogue", "train the model on these tables"),
    "initial-states": Verb("selfplay.dialogue.cli.initial_states", "write initial states of a dialogue game as tables"),
}
