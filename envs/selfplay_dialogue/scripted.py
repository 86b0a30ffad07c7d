"""Scripted players of the matching game, of several strengths: opponents, teachers and rating anchors.

They send their cells as triples, read those of the other seat, and propose the best assignment by the known cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np

from selfplay.dialogue.replies import is_refusal
from selfplay_dialogue.states import LAPTOP, Floats, MatchingRules, assignment
from selfplay_dialogue.texts import Fact, facts_in, facts_text, parse_proposal, partner_reply, proposal_text, table_in


@dataclass(frozen=True, slots=True)
class MatchingStyle:
    """Settings of a player."""

    messages: tuple[int, int] = (0, 0)  # range of messages before it proposes
    facts: tuple[int, int] = (1, 3)  # range of cells per message at size 4; more in larger games
    best_first: bool = False  # cells with the largest values first instead of random ones
    noise: float = 0.0  # standard deviation of the error of its value estimates, in points
    bar: float = 0.0  # accepts proposals above this share of its own best assignment
    guesses: bool = False  # proposes at random


STYLES: Final[dict[str, MatchingStyle]] = {
    "random": MatchingStyle(guesses=True),
    "greedy": MatchingStyle(),
    "teacher": MatchingStyle(messages=(0, 2), noise=1.0, bar=0.8),
    "pooling": MatchingStyle(messages=(1, 3), bar=0.8),
    "pooling_best": MatchingStyle(messages=(2, 3), facts=(3, 4), best_first=True, bar=0.9),
}
"""By name, weakest first."""


@final
class MatchingPlayer:
    """Plays one seat of one game (``ScriptedPlayer``)."""

    def __init__(self, rules: MatchingRules, style: MatchingStyle, seed: int) -> None:
        self._rules = rules
        self._style = style
        self._rng = np.random.default_rng(seed)
        self._messages = int(self._rng.integers(style.messages[0], style.messages[1] + 1))
        self._own: dict[tuple[int, int], int] = {}
        self._heard: dict[tuple[int, int], int] = {}
        self._unsaid: list[Fact] = []
        self._taken = 0  # turns of both
        self._said = ""  # last

    def reply(self, observation: str) -> str:
        if is_refusal(observation):  # unexpected: the other kind of reply
            self._said = "[reject]" if self._said.startswith("[propose]") else self._propose()
            return self._said
        if not self._taken:
            self._look(observation)
        said = partner_reply(observation)
        self._taken += said.kind != ""
        if said.kind == "message":
            self._heard |= {(reviewer, paper): value for reviewer, paper, value in facts_in(self._rules, said.body)}
        self._said = self._answer(said.body) if said.kind == "propose" else self._speak()
        self._taken += 1
        return self._said

    def _look(self, observation: str) -> None:
        facts = table_in(self._rules, observation)
        self._own = {(reviewer, paper): value for reviewer, paper, value in facts}
        order = self._rng.permutation(len(facts))
        self._unsaid = [facts[i] for i in order]
        if self._style.best_first:
            self._unsaid.sort(key=lambda fact: -fact[2])

    def _speak(self) -> str:
        left = self._rules.max_turns - self._taken
        if self._messages > 0 and self._unsaid and left > 2:
            self._messages -= 1
            low, high = self._style.facts
            count = int(self._rng.integers(low, high + 1)) * max(1, self._rules.size // LAPTOP.size)
            facts, self._unsaid = self._unsaid[:count], self._unsaid[count:]
            return f"[message]{facts_text(facts)}"
        return self._propose()

    def _propose(self) -> str:
        if self._style.guesses:
            rows, columns = np.arange(self._rules.size), self._rng.permutation(self._rules.size)
        else:
            rows, columns = assignment(self._judged(self._style.noise))
        return proposal_text(list(zip(rows.tolist(), columns.tolist(), strict=True)), self._rules)

    def _answer(self, proposal: str) -> str:
        pairs = parse_proposal(proposal, self._rules)
        if isinstance(pairs, str):  # cannot happen in a game: it refuses invalid proposals
            return "[reject]"
        judged = self._judged(0.0)
        rows, columns = assignment(judged)
        worth = sum(judged[pair] for pair in pairs)
        left = self._rules.max_turns - self._taken
        return "[accept]" if left <= 3 or worth >= self._style.bar * judged[rows, columns].sum() else "[reject]"

    def _judged(self, noise: float) -> Floats:
        """Estimated values of all cells, in points of the player's own table."""
        values = np.full((self._rules.size,) * 2, self._scale() * self._rules.unseen)
        for cell, value in self._heard.items():
            values[cell] = value * self._exchange()
        for cell, value in self._own.items():
            values[cell] = value
        return np.asarray(values + self._rng.normal(0.0, noise * self._scale(), values.shape) if noise else values)

    def _scale(self) -> float:
        """Estimate of the factor of the player's own table."""
        if not self._rules.scaled or not self._own:
            return 1.0
        return max(1.0, float(np.mean(list(self._own.values()))) / ((self._rules.values - 1) / 2))

    def _exchange(self) -> float:
        """Points of the own table per point of the other's: from cells that both know, else from the means."""
        if not self._rules.scaled or not self._heard:
            return 1.0
        both = [cell for cell in self._heard if self._heard[cell] > 0 and self._own.get(cell, 0) > 0]
        if both:
            return float(np.median([self._own[cell] / self._heard[cell] for cell in both]))
        mean = float(np.mean(list(self._heard.values())))
        return self._scale() * (self._rules.values - 1) / 2 / mean if mean else 1.0
