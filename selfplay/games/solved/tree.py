"""A game of two seats written down whole: every node that it can reach, as arrays.

A node is a state of the game with what both seats have seen and done in it. An information set is what a seat has seen
at its own decisions so far, with its own actions. A sequence is an information set and an action there (von Stengel
1996, https://doi.org/10.1006/game.1996.0050). Letters in shapes: E edges, I information sets of a seat, Q its
sequences, D observation features, L logits, A parts of an action.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from selfplay.games.api import F32, Bool

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SeatTree:
    """Information sets of a seat, and its sequences. Sequence 0 is the empty one, before its first decision."""

    obs: F32  # [I, D]
    legal: Bool  # [I, L]
    before: Ints  # [I] the sequence that leads there
    first: Ints  # [I] the first of its sequences, which follow each other
    info: Ints  # [Q] information set of each sequence but the empty one
    logits: Ints  # [Q, A] logits of its action
    slices: tuple[tuple[int, int], ...]  # information sets by the step in which they are first met

    def plan(self, shares: NDArray[np.floating]) -> Floats:
        """Probability of each action where it can be chosen, [1 + Q], of a policy with ``shares`` [I, L]."""
        chances = np.asarray(shares, np.float64)[self.info[:, None], self.logits].prod(1)
        totals = np.bincount(self.info, chances, len(self.first))  # of float32 numbers
        return np.concatenate([[1.0], chances / totals[self.info]])


@dataclass(frozen=True, slots=True)
class Level:
    """Edges of a step: those to nodes of the next level, ``begin`` to ``over``, then those that end episodes."""

    begin: int
    over: int
    end: int
    first: int  # of the nodes that they lead to
    groups: Ints  # where the edges to each of these nodes begin, counted from ``begin``


@dataclass(frozen=True, slots=True)
class GameTree:
    """Edges lead from a node and the actions of both seats there to one outcome of chance. Node 0 is before chance."""

    seats: tuple[SeatTree, SeatTree]
    levels: tuple[Level, ...]
    parent: Ints  # [E] node
    chance: Floats  # [E] probability, where both actions are chosen
    payoff: Floats  # [E, 2] rewards of the seats
    last: Ints  # [2, E] the latest sequence of each seat, with the action of this edge
    acts: Bool  # [2, E] whether the seat acts in this step
    players: Mapping[str, Floats]  # scripted ones: strategies [2, E]
    left_out: Mapping[str, str]  # scripted players whose chances are not known, and why
    nodes: int

    @property
    def zero_sum(self) -> bool:
        """Whether rewards of both seats cancel in every step."""
        return bool(np.abs(self.payoff.sum(1)).max(initial=0.0) < 1e-12)

    def strategy(self, shares: tuple[NDArray[np.floating], NDArray[np.floating]]) -> Floats:
        """[2, E] probability that a seat takes its action of an edge, for a policy with ``shares`` [I, L] by seat."""
        plans = [seat.plan(each) for seat, each in zip(self.seats, shares, strict=True)]
        return np.stack([np.where(self.acts[s], plan[self.last[s]], 1.0) for s, plan in enumerate(plans)])

    def reach(self, chances: Floats) -> Floats:
        """Probability that an edge is taken, [E, ...]; ``chances`` [E, ...] are those at its node."""
        taken = np.empty_like(chances)
        reached = np.ones((1, *chances.shape[1:]))
        first = 0
        for level in self.levels:
            edges = slice(level.begin, level.end)
            taken[edges] = reached[self.parent[edges] - first] * chances[edges]
            if level.over > level.begin:
                reached = np.add.reduceat(taken[level.begin : level.over], level.groups)
            first = level.first
        return taken
