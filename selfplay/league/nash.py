"""Nash averaging: how much each player weighs in the mixture that nobody of the pool beats.

A rating adds up wins against whoever was met, so that beating many weak copies of one style counts for much. In the
symmetric game "choose a player" the equilibrium does not care: copies share their weight, and who is beaten by
somebody that matters gets little (Balduzzi et al. 2018, "Re-evaluating Evaluation").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.league.bradley_terry import expected_scores
from selfplay.league.ratings import ANCHOR_ELO, ELO

if TYPE_CHECKING:
    from selfplay.league.games import Floats
    from selfplay.league.ratings import Ratings


SHRINK: Final = 4.0
"""Games' worth of what the ratings expect that stands beside the real results of a pair."""
ROUNDS: Final = 4000


def nash_weights(ratings: Ratings) -> Floats:
    """[n] weights of the players, summing to one.

    Pairs who met little are filled in with what the ratings expect of them. The equilibrium is found by
    predictive regret matching+ with linearly weighted averages (Farina et al. 2021), the same in both roles.
    """
    expected = expected_scores((ratings.elo - ANCHOR_ELO) / ELO)
    payoff = (ratings.won + SHRINK * expected) / (ratings.met + SHRINK) - 0.5
    return equilibrium(payoff - payoff.T)


def equilibrium(payoff: Floats, rounds: int = ROUNDS) -> Floats:
    """A symmetric equilibrium of the zero-sum game with the antisymmetric ``payoff`` [n, n] of the row's player."""
    size = len(payoff)
    regret, average, ahead = np.zeros(size), np.zeros(size), np.zeros(size)
    for number in range(1, rounds + 1):
        hoped = np.maximum(regret + ahead, 0.0)
        total = hoped.sum()
        mixture = hoped / total if total > 0.0 else np.full(size, 1.0 / size)
        gain = payoff @ mixture
        ahead = gain - mixture @ gain  # foreseen for the next round as well
        regret = np.maximum(regret + ahead, 0.0)
        average += number * mixture
    return np.asarray(average / average.sum())
