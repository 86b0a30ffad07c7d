"""A writer whose replies are given, so that a test knows what must be masked."""

from dataclasses import dataclass

from selfplay.dialogue.files.games import line_of
from selfplay.dialogue.files.settings import make_settings
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.language.conversation import Conversation, Reply, Writer
from selfplay.dialogue.runner import GameSpec, Played, play_games


@dataclass(frozen=True)
class Said:
    """A reply, and how it comes to its end."""

    text: str
    ended: bool = True
    room: bool = True


class GivenWriter(Writer):
    """``Writer``: asks ``choose(observation, conversation)`` what to say."""

    def __init__(self, chat, choose):
        super().__init__(chat)
        self._choose = choose
        self._told = {}

    def open(self, seed, system, observation):
        conversation = Conversation(seed)
        conversation.read(self._chat.open(system, observation))
        self._told[seed] = observation
        return conversation

    def go_on(self, conversations, observations):
        for conversation, observation, ids in zip(
            conversations, observations, self._chat.go_on(observations), strict=True
        ):
            conversation.read(ids)
            self._told[conversation.seed] = observation

    def reply(self, conversations):
        return [self._one(conversation) for conversation in conversations]

    def _one(self, conversation):
        said = self._choose(self._told[conversation.seed], conversation.seed)
        ids = self._chat.ids_of([said.text])[0] if said.room else []
        ids = ids if said.ended else ids[:-1]
        written = Reply(said.text, ids, [-0.25 - place / 8 for place in range(len(ids))], said.ended, said.room)
        conversation.write(written)
        return written


def settings_of(game="matching", **changes):
    values = {
        "model": "tiny", "games": 4, "games_per_state": 2, "baseline": "group", "max_length": 100, "temperature": 1.0,
        "top_p": 1.0, "max_new_tokens": None, "exp_name": "test", "game": game, "game_size": None,
        "start_tokens": None, "iteration": 0, "seed": 3,
    }  # fmt: skip
    return make_settings(values | changes)


def played(choose, chat, *, game="matching", embedded=True, seed=5, index=0, game_id="g", **rules):
    """A written game in which both seats say what they are given."""
    entry = find_dialogue(game)
    configured = entry.configure(embedded, rules)
    writer = GivenWriter(chat, choose)
    begun = entry.start(configured, entry.states(configured, [seed])[0])
    (result,) = play_games([GameSpec(index, game_id, begun, seed, (writer, writer))])
    assert isinstance(result, Played), result
    return line_of(result, 0, settings_of(game), chat)


def in_turn(*said):
    """Replies one after the other, whoever is to move."""
    rest = iter(said)
    return lambda told, seed: next(rest)
