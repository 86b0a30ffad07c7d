"""A small model that has been taught to play Kuhn poker in words, so that its games have several turns."""

import random
from functools import lru_cache, partial

from selfplay.dialogue.embedded import taught_games
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.language.conversation import Reply
from selfplay.dialogue.language.tiny import TinySpec, make_tiny
from selfplay.dialogue.recipe import Recipe
from selfplay.dialogue.runner import GameSpec
from selfplay.dialogue.settings import StartConfig
from selfplay.dialogue.supervised import SupervisedLearner
from selfplay.learner.sampling import Sampling

STEPS, ROWS = 60, 32
GREEDY = Sampling(temperature=0.0, max_new_tokens=12)


def kuhn():
    entry = find_dialogue("kuhn_text")
    return entry, entry.configure(True, {})


@lru_cache(1)
def taught_model():
    """It answers in the game's form; well enough for tests, in about a second."""
    entry, rules = kuhn()
    spec = TinySpec(width=32, layers=2, heads=2, inner=64, context=64)
    model = make_tiny(spec, entry.vocabulary(rules), seed=1)
    rows = taught_games(entry, Recipe("kuhn_text", rules, StartConfig(), 0, spec), model.chat, list(range(64)))
    learner = SupervisedLearner(model, 5e-3, threads=1)
    for step in range(STEPS):
        first = step * ROWS % len(rows)
        learner.step(rows[first : first + ROWS], step / STEPS)
    learner.close()
    return model


def hands(writer, count, opponent=None):
    """Games of Kuhn poker to be played by a writer, in both seats or against a scripted player."""
    entry, rules = kuhn()
    other = writer if opponent is None else partial(entry.players[opponent], rules)
    return [
        GameSpec(i, f"g{i}", entry.start(rules, state), i, (writer, other))
        for i, state in enumerate(entry.states(rules, list(range(100, 100 + count))))
    ]


def passes_or_bets(chat):
    """Replies of a server that passes or bets, whatever it is asked."""
    luck = random.Random(0)

    def answer(_):
        text = luck.choice(("[pass]", "[bet]"))
        ids = chat.ids_of([text])[0]
        return Reply(text, ids, [-0.7] * len(ids), ended=True)

    return answer
