"""Rows of states, and a server of ids behind which scripted players sit."""

import json

from selfplay.dialogue.files.states import state_row
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.integrations.serving import Sampled
from selfplay.dialogue.language.tiny import make_tokenizer

RULES = {"size": 4, "max_turns": 8}


def rows_of(game="matching", states=2, **rules):
    """As ``selfplay initial-states`` writes them."""
    entry = find_dialogue(game)
    configured = entry.configure(True, (RULES if game == "matching" else {}) | rules)
    return [
        state_row(
            entry.start(configured, state), configured, seat=0, game_id=f"train-0-{number}", index=number,
            data_source=f"{game}_game_selfplay",
        )
        for number, state in enumerate(entry.states(configured, range(states)))
    ]  # fmt: skip


def tiny_tokenizer(game="matching"):
    entry = find_dialogue(game)
    return make_tokenizer(entry.vocabulary(entry.configure(True, {})), 512)


class ScriptedServer:
    """Gives the ids of a scripted player's replies; who it plays in a conversation depends on its name alone."""

    def __init__(self, chat, row, player="teacher"):
        self.chat = chat
        entry = find_dialogue("matching")
        rules = entry.rules(**json.loads(row["game_rules"]))
        self._make = lambda: entry.players[player](rules, 7)
        self._players = {}
        self.asked = []  # (conversation, ids)
        self.gave = {}  # conversation: ids of its replies

    async def __call__(self, conversation, ids):
        self.asked.append((conversation, ids))
        player = self._players.setdefault(conversation, self._make())
        shown = self.chat.tokenizer.decode(ids)
        told = shown.rpartition("<|user|>")[2].removesuffix("<|assistant|>")
        (reply,) = self.chat.ids_of([player.reply(told)])
        self.gave.setdefault(conversation, []).append(reply)
        return Sampled(reply, [-0.5] * len(reply))
