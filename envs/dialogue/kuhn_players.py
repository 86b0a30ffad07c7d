"""Scripted players of Kuhn poker as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

import numpy as np

from envs.dialogue.kuhn import CARDS, KINDS
from envs.dialogue.turns import is_refusal, parse_reply
from envs.solved.kuhn import MOVES

Bets = Mapping[tuple[int, str], float]  # probability of a bet by (card, previous moves)


def equilibrium(bluff: float) -> Bets:
    """Kuhn's solution in which seat 0 bets the jack with probability ``bluff``, at most 1/3."""
    by_situation = {
        "": (bluff, 0.0, 3 * bluff),
        "p": (1 / 3, 0.0, 1.0),
        "b": (0.0, 1 / 3, 1.0),
        "pb": (0.0, bluff + 1 / 3, 1.0),
    }
    return {(card, done): bet for done, bets in by_situation.items() for card, bet in enumerate(bets)}


def _alike(jack: float, queen: float, king: float) -> Bets:
    return {(card, done): bet for done in MOVES for card, bet in enumerate((jack, queen, king))}


PLAYERS: Final[dict[str, Bets]] = {
    "random": _alike(0.5, 0.5, 0.5),
    "honest": _alike(0.0, 0.0, 1.0),
    "equilibrium": equilibrium(1 / 3),
}
"""By name, weakest first."""


@final
class KuhnPlayer:
    """Plays one seat of one game (``ScriptedPlayer``)."""

    def __init__(self, bets: Bets, seed: int) -> None:
        self._bets = bets
        self._rng = np.random.default_rng(seed)
        self._card: int | None = None
        self._done = ""

    def reply(self, observation: str) -> str:
        if not is_refusal(observation):
            if self._card is None:
                self._card = next(card for card, name in enumerate(CARDS) if name in observation)
            self._done += parse_reply(observation, KINDS).kind[:1]
        kind = "bet" if self._rng.random() < self._bets[self._card or 0, self._done] else "pass"
        self._done += kind[0]
        return f"[{kind}]"
