"""Exact answers about a game that is written down whole: what the best reply to a player wins.

A player here is a mixture of K strategies, one of which is drawn before each game and kept to its end. Who replies
knows the mixture and remembers all that it saw, but not which strategy was drawn: it learns of that what the play
gives away. Letters in shapes: E edges of the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from selfplay.games.solved.tree import Floats, GameTree


def nash_conv(tree: GameTree, strategies: Floats, weights: Floats) -> float:
    """NashConv: what the best replies gain over the player itself, summed over both seats; 0 in an equilibrium.

    In a zero-sum game the players' own values cancel, so it is the sum of the values of the best replies.

    Args:
        tree: The game.
        strategies: [K, 2, E] probability of the action of each edge, for each seat.
        weights: [K] of the strategies in the mixture, summing to one.
    """
    replies = sum(best_replies(tree, strategies, weights))
    return replies if tree.zero_sum else replies - float(weights @ payoffs(tree, strategies).sum(-1) @ weights)


def best_replies(tree: GameTree, strategies: Floats, weights: Floats) -> tuple[float, float]:
    """What the best reply in each seat wins of a mixture in the other one; arguments of ``nash_conv``."""
    return _reply(tree, 0, strategies[:, 1], weights), _reply(tree, 1, strategies[:, 0], weights)


def payoffs(tree: GameTree, strategies: Floats) -> Floats:
    """[K, K, 2] what both seats win on average, where strategy k has seat 0 and strategy l seat 1."""
    others = strategies[:, 1].T
    return np.stack([tree.reach((tree.chance * own)[:, None] * others).T @ tree.payoff for own in strategies[:, 0]])


def mean_length(tree: GameTree, strategy: Floats) -> float:
    """Steps of an episode on average, where both seats play a strategy, [2, E]."""
    return float(tree.reach(tree.chance * strategy[0] * strategy[1]).sum()) - 1.0  # chance at the start is no step


def _reply(tree: GameTree, seat: int, others: Floats, weights: Floats) -> float:
    """Value of the best reply of a seat to the strategies [K, E] of the other seat in a mixture."""
    reached = sum(weight * tree.reach(tree.chance * other) for weight, other in zip(weights, others, strict=True))
    own = tree.seats[seat]
    values = np.bincount(tree.last[seat], reached * tree.payoff[:, seat], 1 + len(own.info))
    for begin, end in reversed(own.slices):
        first = int(own.first[begin])
        last = int(own.first[end]) if end < len(own.first) else len(values)
        best = np.maximum.reduceat(values[first:last], own.first[begin:end] - first)
        np.add.at(values, own.before[begin:end], best)
    return float(values[0])
