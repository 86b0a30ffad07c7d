import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from selfplay.dialogue.exact import exact_summary, legal_replies
from selfplay.dialogue.find import find_dialogue
from tests.dialogue.models import untaught

ENTRY = find_dialogue("kuhn_text")
RULES = ENTRY.configure(True, {})
EXACT = ENTRY.exact(RULES)
SITUATIONS = EXACT.information_sets


class Sure:
    """A model that bets with a given probability, whatever it was told, and ends its reply; the rest goes elsewhere."""

    def __init__(self, bets, legal=1.0):
        self.chat = untaught().chat
        self.module = untaught().module
        known = self.chat.tokenizer.convert_tokens_to_ids
        self.bet, self.passes, self.end = known("[bet]"), known("[pass]"), self.chat.end
        self.bets, self.legal = bets, legal

    def logits(self, ids, where):
        taken = ids[where]
        chances = torch.full((len(taken), len(self.chat.tokenizer)), 1e-12)
        moves = (taken == self.bet) | (taken == self.passes)
        chances[moves, self.bet] = self.legal * self.bets
        chances[moves, self.passes] = self.legal * (1 - self.bets)
        chances[moves, 0] = 1 - self.legal + 1e-12
        chances[~moves, self.end] = 1.0
        return chances.log()


def test_probabilities_are_those_of_the_legal_replies_and_the_rest_is_told():
    asked = legal_replies(Sure(0.25, legal=0.8), EXACT)
    np.testing.assert_allclose(asked.chances, [[0.75, 0.25]] * len(SITUATIONS), atol=1e-5)
    np.testing.assert_allclose(asked.illegal, [0.2] * len(SITUATIONS), atol=1e-5)


def test_a_reply_is_all_of_its_tokens():
    model = untaught()
    asked = legal_replies(model, EXACT)
    situation, bet = SITUATIONS[-1], 1
    ids = list(model.chat.open(situation.system, situation.texts[0]))
    for reply, told in zip(situation.texts[1::2], situation.texts[2::2], strict=True):
        ids += [*model.chat.ids_of([reply])[0], *model.chat.go_on([told])[0]]
    total = 0.0
    with torch.inference_mode():
        for token in model.chat.ids_of([situation.replies[bet]])[0]:
            logits = model.module(input_ids=torch.tensor([ids])).logits[0, -1]
            total += float(torch.log_softmax(logits, -1)[token])
            ids.append(token)
    legal = 1 - asked.illegal[-1]
    assert asked.chances[-1][bet] * legal == pytest.approx(math.exp(total), rel=1e-4)


def test_the_average_is_of_strategies_and_not_of_their_distances():
    asked = [legal_replies(Sure(bets), EXACT) for bets in (0.999, 0.001)]
    found = exact_summary(asked, EXACT)
    assert found["generations"] == 2
    assert found["average"] < (found["start"] + found["newest"]) / 2 - 0.1
    assert exact_summary(asked[:1], EXACT)["average"] == found["start"]
    assert found["illegal_mass"]["largest"] < 1e-6
    assert exact_summary([legal_replies(Sure(0.5), EXACT)], EXACT)["start"] == pytest.approx(11 / 12, abs=1e-3)


def test_a_model_that_never_plays_counts_as_one_that_guesses():
    silent = SimpleNamespace(chat=untaught().chat, module=untaught().module, logits=Sure(0.5, legal=0.0).logits)
    asked = legal_replies(silent, EXACT)
    assert min(asked.illegal) > 0.999
    np.testing.assert_allclose([sum(each) for each in asked.chances], 1.0)


def test_the_matching_is_too_large_for_that():
    assert find_dialogue("matching").exact is None
