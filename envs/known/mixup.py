"""A fighter reduced to its mix-up: a few exchanges in which attack, shield and grab beat each other in a ring.

An attack hits whoever reaches for a grab, a grab takes whoever shields, a shield lets an attack bounce off and answers
it; equal choices do nothing. Damage differs, so that no choice is as good as another, and the best mixture depends on
who is ahead, which both see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, final

ATTACK, SHIELD, GRAB = range(3)
DAMAGE: Final = {(ATTACK, GRAB): 3, (GRAB, SHIELD): 2, (SHIELD, ATTACK): 1}
"""Points that the first takes from the second; every other pair takes none."""
POINTS: Final = 4
EXCHANGES: Final = 4


class Fight(NamedTuple):
    """Hit points of both seats, and exchanges that are left."""

    points: tuple[int, int]
    left: int


@final
class MixUp:
    """See the module (``Rules``). Whoever has more points at the end, or any when the other has none, wins 1."""

    actions: Final = ("attack", "shield", "grab")

    def starts(self) -> Sequence[Fight]:
        """See ``Rules``."""
        return (Fight((POINTS, POINTS), EXCHANGES),)

    def legal(self, state: Fight, seat: int) -> Sequence[int]:
        """See ``Rules``."""
        return (ATTACK, SHIELD, GRAB)

    def after(self, state: Fight, actions: tuple[int, int]) -> Fight:
        """See ``Rules``."""
        first, second = actions
        mine, other = state.points
        lost, taken = DAMAGE.get((second, first), 0), DAMAGE.get((first, second), 0)
        return Fight((max(0, mine - lost), max(0, other - taken)), state.left - 1)

    def payoff(self, state: Fight) -> float | None:
        """See ``Rules``."""
        mine, other = state.points
        if state.left and mine and other:
            return None
        return float((mine > other) - (mine < other))

    def observe(self, state: Fight, seat: int) -> Sequence[float]:
        """Own points, the other's (one of each number, 2 x 5), exchanges left (4)."""
        mine, other = state.points[seat], state.points[1 - seat]
        points = [float(have == which) for have in (mine, other) for which in range(POINTS + 1)]
        return [*points, *(float(state.left == which + 1) for which in range(EXCHANGES))]
