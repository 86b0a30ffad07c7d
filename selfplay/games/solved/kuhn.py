"""Kuhn poker (H. W. Kuhn, "A simplified two-person poker", 1950): three cards, ante 1, one bet of 1.

Seat 0 acts first. It passes or bets; so does seat 1. A bet is answered by a pass, which folds, or by a bet, which
calls. The value of the game is -1/18 for seat 0. In equilibrium seat 0 bets the jack with a probability a of at most
1/3, and the king with 3a.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Final, NamedTuple, final

WAIT, PASS, BET = range(3)
MOVES: Final = {"": 0, "p": 1, "b": 1, "pb": 0}
"""Seat to move after each sequence of actions, p a pass and b a bet; any other sequence ends the game."""

CARDS: Final = ("jack", "queen", "king")
BETS: Final = {"": (1 / 3, 0, 1), "p": (1 / 3, 0, 1), "b": (0, 1 / 3, 1), "pb": (0, 2 / 3, 1)}
"""Probability of a bet in equilibrium: after what was done, with the jack, the queen and the king."""


class Hand(NamedTuple):
    """Cards of both seats, 0 the jack to 2 the king, and what was done."""

    cards: tuple[int, int]
    done: str


@final
class Kuhn:
    """See the module (``Rules``)."""

    actions: Final = ("wait", "pass", "bet")

    def starts(self) -> Sequence[Hand]:
        return [Hand((mine, other), "") for mine, other in permutations(range(3), 2)]

    def legal(self, state: Hand, seat: int) -> Sequence[int]:
        return (PASS, BET) if MOVES[state.done] == seat else (WAIT,)

    def after(self, state: Hand, actions: tuple[int, int]) -> Hand:
        return Hand(state.cards, state.done + ("p" if PASS in actions else "b"))

    def payoff(self, state: Hand) -> float | None:
        if state.done in MOVES:
            return None
        if state.done.endswith("bp"):  # a bet, and the other player folded
            return 1.0 if state.done == "bp" else -1.0
        stake = 2.0 if state.done.endswith("bb") else 1.0
        return stake if state.cards[0] > state.cards[1] else -stake

    def equilibrium(self, state: Hand, seat: int) -> Sequence[float]:
        """Probability of each action in the equilibrium in which seat 0 bets the jack with probability 1/3."""
        if MOVES.get(state.done) != seat:
            return (1.0, 0.0, 0.0)
        bet = BETS[state.done][state.cards[seat]]
        return (0.0, 1.0 - bet, bet)

    def observe(self, state: Hand, seat: int) -> Sequence[float]:
        """Own card and what was done (one of 3 x 4, none when the game is over), whether one is the first to act."""
        known = [float(state.cards[seat] == card and state.done == done) for card in range(3) for done in MOVES]
        return [*known, float(seat == 0)]

    def render(self, state: Hand) -> str:
        done = ", ".join({"p": "pass", "b": "bet"}[move] for move in state.done) or "none"
        shown = (0, 1) if (seat := MOVES.get(state.done)) is None else (seat,)
        cards = ", ".join(f"seat {seat} has the {CARDS[state.cards[seat]]}" for seat in shown)
        return f"{cards}; moves: {done}"
