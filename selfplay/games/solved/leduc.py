"""Leduc poker (Southey et al. 2005, https://arxiv.org/abs/1207.1411): two suits of three ranks, two rounds of betting.

Both seats ante 1 and get a card. After the first round a third card is laid open. A raise is 2 chips in the first round
and 4 in the second, at most two a round; seat 0 acts first in both. The rank of the open card beats any other, then the
higher rank wins; equal ranks share the pot. The value of the game is about -0.0856 for seat 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Final, NamedTuple, final

WAIT, FOLD, CALL, RAISE = range(4)
LETTERS: Final = {FOLD: "f", CALL: "c", RAISE: "r"}
NAMES: Final = {"f": "fold", "c": "call", "r": "raise"}
CARDS: Final = ("jack", "queen", "king")
RAISES: Final = (2.0, 4.0)  # chips, by round
MOST_RAISES: Final = 2  # in a round
LONGEST: Final = 4  # moves of a round


class Hand(NamedTuple):
    """Cards of both seats and the open one, 0 and 1 the jacks to 4 and 5 the kings, and the moves of both rounds."""

    cards: tuple[int, int, int]
    moves: tuple[str, str] = ("", "")


class Betting(NamedTuple):
    """What the moves of a hand come to."""

    pot: tuple[float, float]  # chips that each seat has paid
    round: int
    raises: int  # in this round
    seat: int | None  # to move; None: the hand is over
    folded: int | None = None  # the seat that has folded


@final
class Leduc:
    """See the module (``Rules``)."""

    actions: Final = ("wait", "fold", "call", "raise")

    def starts(self) -> Sequence[Hand]:
        return [Hand((mine, other, open_card)) for mine, other, open_card in permutations(range(6), 3)]

    def legal(self, state: Hand, seat: int) -> Sequence[int]:
        now = betting(state.moves)
        if now.seat != seat:
            return (WAIT,)
        fold = (FOLD,) if now.pot[1 - seat] > now.pot[seat] else ()
        return (*fold, CALL, RAISE) if now.raises < MOST_RAISES else (*fold, CALL)

    def after(self, state: Hand, actions: tuple[int, int]) -> Hand:
        letter = LETTERS[max(actions)]  # the other seat waits, which is 0
        first, second = state.moves
        moves = (first, second + letter) if betting(state.moves).round else (first + letter, second)
        return Hand(state.cards, moves)

    def payoff(self, state: Hand) -> float | None:
        now = betting(state.moves)
        if now.seat is not None:
            return None
        if now.folded is not None:
            return -now.pot[0] if now.folded == 0 else now.pot[1]
        open_rank = state.cards[2] // 2
        mine, other = (len(CARDS) if card // 2 == open_rank else card // 2 for card in state.cards[:2])
        return 0.0 if mine == other else now.pot[1] if mine > other else -now.pot[0]

    def observe(self, state: Hand, seat: int) -> Sequence[float]:
        """Seat (2), own rank (3), open rank (3, none before it is laid), moves (2 x 4 x 2: a call, a raise)."""
        shown = state.cards[2] // 2 if betting(state.moves).round else None
        moves = [move for done in state.moves for move in done.ljust(LONGEST)]
        return [
            *(float(seat == each) for each in range(2)),
            *(float(state.cards[seat] // 2 == rank) for rank in range(3)),
            *(float(shown == rank) for rank in range(3)),
            *(float(move == letter) for move in moves for letter in "cr"),
        ]

    def render(self, state: Hand) -> str:
        now = betting(state.moves)
        seats = (0, 1) if now.seat is None else (now.seat,)
        cards = [f"seat {seat} has the {CARDS[state.cards[seat] // 2]}" for seat in seats]
        cards += [f"the {CARDS[state.cards[2] // 2]} lies open"] if now.round else []
        rounds = [", ".join(NAMES[move] for move in done) or "none" for done in state.moves[: now.round + 1]]
        pot = " and ".join(f"{chips:g}" for chips in now.pot)
        return f"{', '.join(cards)}; moves: {'; then '.join(rounds)}; pot: {pot}"


def betting(moves: tuple[str, str]) -> Betting:
    """Follow the moves of a hand."""
    pot, round_, raises, seat = [1.0, 1.0], 0, 0, 0
    for round_, done in enumerate(moves):
        raises, seat, ended = 0, 0, False
        for place, move in enumerate(done):
            if move == "f":
                return Betting((pot[0], pot[1]), round_, raises, None, folded=seat)
            answers = pot[1 - seat] > pot[seat]
            pot[seat] = pot[1 - seat] + (RAISES[round_] if move == "r" else 0.0)
            raises += move == "r"
            ended = move == "c" and (answers or place > 0)
            seat = 1 - seat
        if not ended:
            return Betting((pot[0], pot[1]), round_, raises, seat)
    return Betting((pot[0], pot[1]), round_, raises, None)
