"""Exercises in Kuhn poker as text: name your own card.

The teacher plays the same with every card, so a model that is trained on its games alone learns to ignore the card, and
self-play cannot start from that. An exercise is an information set, and the answer is the card. Too many exercises
would make the model answer with a card where a move is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from envs.dialogue.contract import Drill
from envs.dialogue.kuhn import CARDS, KuhnRules
from envs.dialogue.kuhn_decisions import decisions


def kuhn_drills(rules: KuhnRules, seeds: Sequence[int], talk: bool) -> list[Drill]:
    """A drill for each seed; without ``talk`` before anything was done."""
    situations = [each for each in decisions(rules) if talk or not each.done]
    chosen = [situations[int(np.random.default_rng(seed).integers(len(situations)))] for seed in seeds]
    return [Drill(tuple(each.texts[0::2]), (*each.texts[1::2], f" {CARDS[each.card]}")) for each in chosen]
