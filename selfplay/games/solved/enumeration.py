"""Writes down a game whole: all of its states, chance included.

Each state is stepped once, in copies, with every pair of legal actions and every outcome of what the game draws. From
what follows on each state the tree is made: equal states in which both seats have seen and done the same are one node.
Afterwards some episodes are played as training plays them. If one of them is not in the tree, something else than the
seeded generators decides, and the tree is refused.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from selfplay.games.errors import EnumerationError
from selfplay.games.registry import find_game
from selfplay.games.solved.states import OVER, START, WAITS, Result, States, View, asking
from selfplay.games.solved.tree import GameTree, Level, SeatTree

if TYPE_CHECKING:
    from selfplay.games.api import ActionSpec
    from selfplay.games.game import Game

NODES: Final = 1_000_000  # at most; the search takes about 1 kB for each
EPISODES: Final = 50  # that must be in the tree
_WHOLE: Final = ("parent", "child", "last0", "last1", "move")  # figures of an edge, whole numbers
_REAL: Final = ("chance", "payoff0", "payoff1")


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a game is followed before it is called too large."""

    nodes: int = NODES
    seconds: float = 600.0


LIMITS: Final = Limits()


Paid = tuple[float, float]


class _Node(NamedTuple):
    state: int
    last: tuple[int, int]  # the latest sequences of the seats
    paid: Paid  # so far; zeros where rewards count as they come


@dataclass(slots=True)
class _Seat:
    """Information sets of a seat, numbered as they are met."""

    views: list[View]
    number: dict[tuple[int, int], int] = field(default_factory=dict)  # by the sequence before, and what it sees
    before: list[int] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)  # number of the view
    first: list[int] = field(default_factory=list)
    sequences: int = 1
    ends: list[int] = field(default_factory=list)  # information sets after each step

    def turn(self, before: int, view: int) -> range:
        """Sequences that a seat can go on with; the one before where it waits."""
        if view == WAITS:
            return range(before, before + 1)
        if (before, view) not in self.number:
            self.number[before, view] = len(self.before)
            self.before.append(before)
            self.seen.append(view)
            self.first.append(self.sequences)
            self.sequences += len(self.views[view].choices)
        first = self.first[self.number[before, view]]
        return range(first, first + len(self.views[view].choices))

    def tree(self, spec: ActionSpec, obs_width: int) -> SeatTree:
        views = [self.views[view] for view in self.seen]
        actions = [choice for view in views for choice in view.choices]
        return SeatTree(
            obs=np.array([view.obs for view in views], np.float32).reshape(-1, obs_width),
            legal=np.array([view.legal for view in views], np.bool_).reshape(-1, spec.logits),
            before=np.array(self.before, np.int64),
            first=np.array(self.first, np.int64),
            info=np.repeat(np.arange(len(views)), [len(view.choices) for view in views]),
            logits=np.array(actions, np.int64).reshape(-1, spec.width) + spec.starts,
            slices=tuple((a, b) for a, b in pairwise((0, *self.ends)) if b > a),
        )


@cache
def find_tree(name: str, limits: Limits = LIMITS) -> GameTree:
    """The tree of the game of that name; errors as of ``enumerate_game``."""
    kind = find_game(name)
    if (single := kind.single) is None:
        raise EnumerationError(f"{name} steps many games at once; only a Game or Rules can be written down whole")
    try:
        return enumerate_game(lambda: single(False), limits, by_score=not kind.objective.by_payoff)
    except EnumerationError as error:
        raise EnumerationError(f"{name}: {error}") from error


def enumerate_game(make: Callable[[], Game], limits: Limits = LIMITS, *, by_score: bool = False) -> GameTree:
    """The tree of a game.

    Args:
        make: Makes the game.
        limits: Where the search ends in vain.
        by_score: Whether a win pays 1, a draw 0 and a loss -1, whatever the rewards are.

    Raises:
        EnumerationError: it is too large, or its chance has no list of outcomes, or it cannot be copied.
        GameError: the game fails.
    """
    return _Enumeration(make, limits, by_score).tree()


class _Enumeration:
    """A search, level by level."""

    def __init__(self, make: Callable[[], Game], limits: Limits, by_score: bool) -> None:
        self._make, self._limits, self._by_score = make, limits, by_score
        self._until = time.monotonic() + limits.seconds
        self._states = States(make(), self._check_size)
        self._seats = _Seat(self._states.views[0]), _Seat(self._states.views[1])
        self._whole, self._real = array("q"), array("d")  # the figures of all edges, edge by edge
        self._ends: list[tuple[int, int]] = []  # edges and nodes after each level
        self._number: dict[_Node, int] = {}  # of nodes of the next level
        self._nodes = 1
        self._depth = 0

    def tree(self) -> GameTree:
        self._add(0, (0, 0), START, (0.0, 0.0), self._states.starts())
        first, nodes = self._next_level()
        while nodes:
            self._depth += 1
            for number, node in enumerate(nodes, first):
                self._follow(number, node)
            first, nodes = self._next_level()
        self._check_episodes()
        return self._arrays()

    def _next_level(self) -> tuple[int, list[_Node]]:
        """Begin the next level: the number of its first node, and its nodes."""
        nodes = [*self._number]
        self._ends.append((len(self._real) // len(_REAL), self._nodes))
        for seat in self._seats:
            seat.ends.append(len(seat.before))
        self._number = {}
        return self._nodes - len(nodes), nodes

    def _follow(self, number: int, node: _Node) -> None:
        """Add the edges of a node."""
        after = self._states.after(node.state)
        one, other = (seat.turn(*each) for seat, *each in zip(self._seats, node.last, after.views, strict=True))
        for last, (move, results) in zip(product(one, other), after.moves, strict=True):
            self._add(number, last, move, node.paid, results)

    def _add(self, parent: int, last: tuple[int, int], move: int, paid: Paid, results: Sequence[Result]) -> None:
        """Add the edges of a pair of actions: one for each node and rewards that chance may lead to."""
        ends = self._depth >= self._states.max_steps
        found: dict[tuple[int, Paid], float] = {}
        for chance, state, rewards in results:
            over = ends or state == OVER
            won, sums = self._paid(paid, rewards, over) if self._by_score else (rewards, paid)
            place = OVER if over else self._place(_Node(state, last, sums)), won
            found[place] = found.get(place, 0.0) + chance
        for (child, won), chance in found.items():
            self._whole.extend((parent, child, *last, move))
            self._real.extend((chance, *won))

    def _paid(self, before: Paid, rewards: Paid, over: bool) -> tuple[Paid, Paid]:
        """What a step pays where only who has won counts, and the sums of rewards so far."""
        sums = before[0] + rewards[0], before[1] + rewards[1]
        won = float(np.sign(sums[0] - sums[1])) if over else 0.0
        return (won, -won), sums

    def _place(self, node: _Node) -> int:
        """Number of a node of the next level."""
        if node not in self._number:
            self._number[node] = self._nodes
            self._nodes += 1
            if not self._nodes % 1000:
                self._check_size(self._nodes - 1)
        return self._number[node]

    def _check_size(self, reached: int) -> None:
        late = time.monotonic() > self._until
        if late or reached > self._limits.nodes:
            reason = f" within {self._limits.seconds:g} seconds" if late else ""
            raise EnumerationError(
                f"too large to be solved exactly: more than {max(reached - 1, 0):,} states were reached{reason} after "
                f"{self._depth} steps"
            )

    def _check_episodes(self) -> None:
        """Play episodes as training plays them, and find them in the tree."""
        rng = np.random.default_rng(0)
        for _ in range(EPISODES):
            game, last = self._make(), [0, 0]
            seed = int(rng.integers(1 << 31))
            with asking("reset"):
                game.reset(seed)
            for _ in range(self._states.max_steps):
                parts = [(0,) * self._states.spec.width] * 2
                for seat in game.to_act():
                    parts[seat] = self._chosen(game, seat, last, rng, seed)
                with asking("step"):
                    if any(game.step(self._states.actions(parts))[1:]):
                        break

    def _chosen(self, game: Game, seat: int, last: list[int], rng: np.random.Generator, seed: int) -> tuple[int, ...]:
        """A random action of a seat, which goes on in the tree."""
        known = self._seats[seat]
        view = self._states.view(game, seat)
        info = known.number.get((last[seat], view))
        if info is None:
            raise EnumerationError(
                f"it cannot be enumerated: in the episode of the seed {seed} seat {seat} sees what no outcome of the "
                "draws gives; all chance must come from np.random.default_rng or random.Random, made with the seed"
            )
        choices = known.views[view].choices
        choice = int(rng.integers(len(choices)))
        last[seat] = known.first[info] + choice
        return choices[choice]

    def _arrays(self) -> GameTree:
        edges: dict[str, Any] = dict(zip(_WHOLE, np.array(self._whole).reshape(-1, len(_WHOLE)).T, strict=True))
        edges |= zip(_REAL, np.array(self._real).reshape(-1, len(_REAL)).T, strict=True)
        levels, order = [], []
        begin, first = 0, 1
        for end, nodes in self._ends:
            child = edges["child"][begin:end]
            by_child = np.lexsort((child, child == OVER)) + begin
            on = int((child != OVER).sum())
            groups = np.flatnonzero(np.diff(edges["child"][by_child[:on]], prepend=OVER))
            levels.append(Level(begin, begin + on, end, first, groups))
            order.append(by_child)
            begin, first = end, nodes
        edges = {name: values[np.concatenate(order)] for name, values in edges.items()}
        acts, players, left_out = self._states.moves_played()
        width = self._states.game.obs_width
        return GameTree(
            seats=(self._seats[0].tree(self._states.spec, width), self._seats[1].tree(self._states.spec, width)),
            levels=tuple(levels),
            parent=edges["parent"],
            chance=edges["chance"],
            payoff=np.stack([edges["payoff0"], edges["payoff1"]], 1),
            last=np.stack([edges["last0"], edges["last1"]]),
            acts=acts[:, edges["move"]],
            players={name: chances[:, edges["move"]] for name, chances in players.items()},
            left_out=left_out,
            nodes=self._nodes - 1,
        )
