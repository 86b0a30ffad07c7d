"""Nash averaging: the weight of each player in a mixture that no player of the pool beats.

A rating depends on the opponents: beating many copies of one weak style raises it. The equilibrium of the symmetric
game "choose a player" is invariant to copies, which share their weight (Balduzzi et al. 2018, "Re-evaluating
Evaluation").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from selfplay.league.games import Floats
    from selfplay.league.ratings import Ratings


SHRINK: Final = 4.0  # pseudo-games with the expected score that are added to the results of each pair
ROUNDS: Final = 4000


def nash_weights(ratings: Ratings) -> Floats:
    """[n] weights of the players; they sum to one. People, and players without games, have weight 0.

    With a shared reward no player beats another, and all weights are 0. The results of pairs with few games are shrunk
    towards what the ratings expect. The equilibrium is found by predictive regret matching+ with linearly weighted
    averages (Farina et al. 2021).
    """
    weights = np.zeros(len(ratings.players))
    if ratings.scale.shared:
        return weights
    payoff = (ratings.points + SHRINK * ratings.expected) / (ratings.met + SHRINK) - 0.5
    payoff = payoff - payoff.T
    chosen = ~ratings.people & ((ratings.games > 0) | ~ratings.games.any())
    played = np.flatnonzero(chosen)
    weights[played] = equilibrium(payoff[np.ix_(played, played)])
    return weights


def equilibrium(payoff: Floats) -> Floats:
    """Symmetric equilibrium [n] of the zero-sum game with antisymmetric ``payoff`` [n, n] of the row player."""
    size = len(payoff)
    regret, average, ahead = np.zeros(size), np.zeros(size), np.zeros(size)
    for number in range(1, ROUNDS + 1):
        hoped = np.maximum(regret + ahead, 0.0)
        total = hoped.sum()
        mixture = hoped / total if total > 0.0 else np.full(size, 1.0 / size)
        gain = payoff @ mixture
        ahead = gain - mixture @ gain  # prediction for the next round
        regret = np.maximum(regret + ahead, 0.0)
        average += number * mixture
    return np.asarray(average / average.sum())
