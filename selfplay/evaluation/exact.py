"""Exact figures of policies, in games that can be written down whole: no games are played, and nothing is estimated.

A policy without memory is judged as it plays: its actions follow from what it sees now. Best replies remember
everything that they saw. Letters in shapes: K strategies, E edges of the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from selfplay.games.objective import decimals
from selfplay.games.registry import find_game
from selfplay.games.solved.enumeration import Limits, find_tree
from selfplay.games.solved.exact import nash_conv, payoffs
from selfplay.league.nash import equilibrium

if TYPE_CHECKING:
    from selfplay.games.solved.tree import Floats, GameTree

AT_ONCE: Final = Limits(seconds=30.0)  # of commands that have something else to show if a game is too large
MOST_CELLS: Final = 50_000_000  # of strategies that are compared with each other: 400 MB


class Asked(Protocol):
    """A policy whose probabilities can be asked for, see ``selfplay.policy.policy.Policy``."""

    def probabilities(self, obs: NDArray[np.float32], legal: NDArray[np.bool_]) -> NDArray[np.float32]: ...


@dataclass(frozen=True, slots=True)
class ExactFigures:
    """Of a policy."""

    unit: str
    nodes: int  # of the game
    nash_conv: float
    reply: float  # what a best reply gains a game, on average over the seats: half of NashConv
    against: Mapping[str, float]  # mean payoff against each scripted player, from both seats equally often
    left_out: Mapping[str, str]  # scripted players whose chances are not known, and why

    def __str__(self) -> str:
        """In words, for people."""
        form = f"+z.{decimals(*self.against.values())}f"
        takes = ", ".join(f"{value:{form}} against {player}" for player, value in self.against.items())
        without = "".join(f" Without {player}: {why}." for player, why in self.left_out.items())
        form = f"z.{decimals(self.nash_conv, self.reply)}f"
        return (
            f"Exactly, from all {self.nodes:,} states: NashConv {self.nash_conv:{form}} {self.unit} (a best reply "
            f"gains {self.reply:{form}} {self.unit} a game). Mean payoff: {takes}.{without}"
        )


@dataclass(frozen=True, slots=True)
class Mixtures:
    """NashConv of what comes out of a run whose generations are saved."""

    last: float  # of the last policy
    average: float  # of the second half of the generations, all alike likely
    recommended: float  # of all generations, weighed by Nash averaging
    weights: tuple[float, ...]  # of the generations in the recommended mixture


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Of the generations of a run."""

    game: str
    unit: str
    nodes: int
    generations: Mapping[str, float]  # NashConv, from old to new
    mixtures: Mixtures
    uniform: float  # NashConv of random play
    players: tuple[str, ...]  # the newest generation, the first one, and scripted players
    payoffs: tuple[tuple[float, ...], ...]  # mean payoff of the row's player against the column's, from both seats
    left_out: Mapping[str, str]
    shared: bool = False  # both seats are always paid alike: Nash averaging recommends nothing

    @property
    def nash_convs(self) -> dict[str, float]:
        """NashConv of the generations, of the mixtures of them, and of random play."""
        mixed = {"average": self.mixtures.average}
        if not self.shared:
            mixed["recommended"] = self.mixtures.recommended
        return {**self.generations, **mixed, "random": self.uniform}


def unit_of(game: str) -> str:
    """What payoffs of a game are counted in; of one that is played to win a win is 1 point, a loss -1."""
    return find_game(game).objective.unit


def strategy(tree: GameTree, policy: Asked) -> Floats:
    """[2, E] of a policy, which is asked by what a seat sees."""
    one, other = tree.seats
    shares = policy.probabilities(np.concatenate([one.obs, other.obs]), np.concatenate([one.legal, other.legal]))
    return tree.strategy((shares[: len(one.obs)], shares[len(one.obs) :]))


def head_to_head(tree: GameTree, strategies: Floats) -> Floats:
    """[K, K] mean payoff of strategy k against strategy l, with each seat equally often."""
    won = payoffs(tree, strategies)
    return np.asarray((won[:, :, 0] + won[:, :, 1].T) / 2)


def exact_figures(game: str, policy: Asked, limits: Limits = AT_ONCE) -> ExactFigures:
    """Figures of a policy; EnumerationError if the game cannot be written down whole, or only after these limits."""
    tree = find_tree(game, limits)
    own = strategy(tree, policy)[None]
    found = nash_conv(tree, own, np.ones(1))
    won = head_to_head(tree, np.concatenate([own, *(each[None] for each in tree.players.values())]))[0, 1:]
    against = dict(zip(tree.players, won.tolist(), strict=True))
    return ExactFigures(unit_of(game), tree.nodes, found, found / 2, against, tree.left_out)


def mixtures(tree: GameTree, strategies: Floats) -> Mixtures:
    """NashConv of the mixtures of generations [K, 2, E], given from old to new."""
    newer = strategies[len(strategies) // 2 :]
    won = head_to_head(tree, strategies)
    weights = equilibrium((won - won.T) / 2)
    return Mixtures(
        last=nash_conv(tree, strategies[-1:], np.ones(1)),
        average=nash_conv(tree, newer, np.full(len(newer), 1 / len(newer))),
        recommended=nash_conv(tree, strategies, weights),
        weights=tuple(weights.tolist()),
    )


def run_figures(game: str, policies: Mapping[str, Asked], limits: Limits = AT_ONCE) -> RunFigures:
    """Figures of the generations of a run, given from old to new; errors as of ``exact_figures``."""
    tree = find_tree(game, limits)
    strategies = np.stack([strategy(tree, policy) for policy in policies.values()])
    names = [*policies]
    ends = {names[-1]: strategies[-1], names[0]: strategies[0], **tree.players}
    won = head_to_head(tree, np.stack([*ends.values()]))
    return RunFigures(
        game=game,
        unit=unit_of(game),
        nodes=tree.nodes,
        generations={
            name: nash_conv(tree, each[None], np.ones(1)) for name, each in zip(names, strategies, strict=True)
        },
        mixtures=mixtures(tree, strategies),
        uniform=nash_conv(tree, tree.players["random"][None], np.ones(1)),
        players=tuple(ends),
        payoffs=tuple(map(tuple, won.tolist())),
        left_out=tree.left_out,
        shared=find_game(game).objective.kind == "shared",
    )


def spread(items: Sequence[Any], most: int) -> list[Any]:
    """At most so many of a sequence, evenly spread, with the first and the last."""
    if len(items) <= most:
        return [*items]
    return [items[round(i)] for i in np.linspace(0, len(items) - 1, most)]
