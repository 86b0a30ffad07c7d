"""Exercises of one reply in the matching game: what to propose when nothing is left to be asked.

A whole game shows its proposal once, after much talk; so a model that has read only games knows how to speak long before
it can add up. Drills are the teacher's proposals for tables of which it sees more or less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from envs.dialogue.scripted import STYLES, MatchingPlayer
from envs.dialogue.states import MatchingRules, MatchingState
from envs.dialogue.wording import opening

SEEN: Final = (0.3, 0.8)
"""Share of the cells that is shown: from what one player sees to what both know after much talk."""


def matching_drills(rules: MatchingRules, seeds: Sequence[int]) -> list[tuple[str, str]]:
    """What a seat reads, and what the teacher replies, for each seed."""
    style = replace(STYLES["teacher"], messages=(0, 0))
    drills = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        shape = (rules.size, rules.size)
        seen = rng.random(shape) < rng.uniform(*SEEN)
        table = rng.integers(0, rules.values, shape).astype(np.float64)
        scale = float(rng.uniform(1, 10)) if rules.scaled else 1.0
        shown = opening(rules, MatchingState(table, np.stack([seen, seen]), (scale, scale), 0.0), 0)
        drills.append((shown, MatchingPlayer(rules, style, seed).reply(shown)))
    return drills
