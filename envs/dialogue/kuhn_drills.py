"""Exercises in Kuhn poker as text: to say which card one holds.

The teacher plays alike with every card, so that a model that has read nothing but its games has learned not to look at
the card, and self-play then finds no difference between the cards that it could build on. An exercise is a situation of
the game, and the answer is the card; the fewer exercises there are, the surer it is that a move is asked for.
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
