"""Exercises with which the embedded model is taught before whole games. Only the last reply is a training target.

Matching: propose the best assignment given the conversation so far. A game has one proposal after many messages, so a
model that is trained on games alone learns to send messages long before it learns to combine its own cells with those
of its partner. A drill is a conversation of the teacher with itself, on a table that need not be hard, cut off at the
first proposal.

Kuhn poker: name your own card. The teacher plays the same with every card, so a model that is trained on its games
alone learns to ignore the card, and self-play cannot start from that. A drill is an information set, and the answer is
the card. Too many drills would make the model answer with a card where a move is required.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from selfplay.dialogue.contract import Drill
from selfplay.games.solved.kuhn import CARDS
from selfplay_dialogue.kuhn import KuhnRules, solved
from selfplay_dialogue.matching import start
from selfplay_dialogue.scripted import STYLES, MatchingPlayer
from selfplay_dialogue.states import LARGEST_FACTOR, MatchingRules, MatchingState, assignment

SEEN: Final = (0.05, 0.7)
"""Range of the share of cells that a seat sees in a drill without talk: from easy tables to what both know after much
talk."""
MESSAGES: Final = 3  # maximum number of messages of each seat before the proposal, in a drill with talk


def matching_drills(rules: MatchingRules, seeds: Sequence[int], talk: bool) -> list[Drill]:
    """A drill for each seed, with or without talk before the proposal."""
    return [_drill(rules, np.random.default_rng(seed), talk) for seed in seeds]


def _drill(rules: MatchingRules, rng: np.random.Generator, talk: bool) -> Drill:
    share = rules.known if talk else rng.uniform(*SEEN)
    masks = rng.random((2, rules.size, rules.size)) < share
    table = np.where(masks.any(0), rng.integers(0, rules.values, masks.shape[1:]), rules.unseen).astype(np.float64)
    scales = rng.uniform(1, LARGEST_FACTOR, 2).tolist() if rules.scaled else [1.0, 1.0]
    best = float(table[assignment(table)].sum())
    game = start(rules, MatchingState(table, masks, (scales[0], scales[1]), max(best, 1.0)))
    messages = int(rng.integers(1, min(MESSAGES, rules.max_turns // 2 - 1) + 1)) if talk else 0
    proposer = int(rng.integers(2)) if talk else 0
    counts = (messages, messages) if proposer == 0 else (messages + 1, messages)
    players = [
        MatchingPlayer(rules, replace(STYLES["teacher"], messages=(count, count), noise=0.0), int(rng.integers(2**62)))
        for count in counts
    ]
    read: tuple[list[str], list[str]] = ([], [])
    wrote: tuple[list[str], list[str]] = ([], [])
    while True:
        seat = game.mover
        read[seat].append(game.observe(seat))
        wrote[seat].append(players[seat].reply(read[seat][-1]))
        if game.act(wrote[seat][-1]).kind == "propose":
            return Drill(tuple(read[seat]), tuple(wrote[seat]))


def kuhn_drills(rules: KuhnRules, seeds: Sequence[int], talk: bool) -> list[Drill]:
    """A drill for each seed; without ``talk`` before the first move."""
    situations = [each for each in solved(rules).information_sets if talk or (each.seat == 0 and len(each.texts) == 1)]
    chosen = [situations[int(np.random.default_rng(seed).integers(len(situations)))] for seed in seeds]
    cards = [next(card for card in CARDS if card in each.texts[0]) for each in chosen]
    return [
        Drill(tuple(each.texts[0::2]), (*each.texts[1::2], f" {card}"))
        for each, card in zip(chosen, cards, strict=True)
    ]
