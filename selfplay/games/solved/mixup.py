"""A fighter reduced to its mix-up: two exchanges in which attack, shield and grab beat each other in a ring.

An attack beats a grab, a grab beats a shield, and a shield blocks an attack and punishes it; equal choices do nothing.
The damage of the three differs, so that the best mixture is not uniform, and it depends on the score, which both see.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple, final

ATTACK, SHIELD, GRAB = range(3)
DAMAGE: Final = {(ATTACK, GRAB): 3, (GRAB, SHIELD): 2, (SHIELD, ATTACK): 1}
"""Points that the first takes from the second; every other pair takes none."""
POINTS: Final = 4
EXCHANGES: Final = 2


class Fight(NamedTuple):
    """Hit points of both seats, and exchanges that are left."""

    points: tuple[int, int]
    left: int


@final
class MixUp:
    """See the module (``Rules``). Wins the lead at the end, as a share of all points."""

    actions: Final = ("attack", "shield", "grab")

    def starts(self) -> Sequence[Fight]:
        return (Fight((POINTS, POINTS), EXCHANGES),)

    def legal(self, state: Fight, seat: int) -> Sequence[int]:
        return (ATTACK, SHIELD, GRAB)

    def after(self, state: Fight, actions: tuple[int, int]) -> Fight:
        first, second = actions
        mine, other = state.points
        lost, taken = DAMAGE.get((second, first), 0), DAMAGE.get((first, second), 0)
        return Fight((max(0, mine - lost), max(0, other - taken)), state.left - 1)

    def payoff(self, state: Fight) -> float | None:
        mine, other = state.points
        if state.left and mine and other:
            return None
        return (mine - other) / POINTS

    def observe(self, state: Fight, seat: int) -> Sequence[float]:
        """Own points, the other's and exchanges left: one of 4 x 4 x 2, none when the game is over."""
        here = (state.points[seat], state.points[1 - seat], state.left)
        points = range(1, POINTS + 1)
        return [float(here == place) for place in product(points, points, range(1, EXCHANGES + 1))]

    def render(self, state: Fight) -> str:
        ring = (f"{self.actions[mine]} takes {n} from {self.actions[other]}" for (mine, other), n in DAMAGE.items())
        points = f"points: seat 0 {state.points[0]}, seat 1 {state.points[1]}; exchanges left: {state.left}"
        return f"{', '.join(ring)}\n{points}"
