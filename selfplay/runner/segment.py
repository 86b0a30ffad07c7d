"""Orders to a block of games, and their results: a whole segment, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from selfplay.runner.game_runner import Resource

if TYPE_CHECKING:
    from collections import Counter

    from selfplay.league.modes import Kind, Opponent
    from selfplay.policy.network import ActorCritic
    from selfplay.rollout.buffers import BufferPool
    from selfplay.rollout.rollout import Rollout


@dataclass(frozen=True, slots=True)
class SegmentOrder:
    """Order for a block: the networks, the number of steps, and the next opponents."""

    iteration: int
    steps: int
    version: int
    network: ActorCritic  # frozen: its weights never change
    frozen: Mapping[str, ActorCritic]  # opponents by id; of episodes in progress those that the block does not know
    opponents: tuple[Opponent, ...]  # taken in turn, from the front again when they run out
    teacher: ActorCritic | None = None  # asked about everything that the learner sees


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished training episode, from the view of the learner's seat (seat 0 in a mirror game)."""

    opponent: str
    kind: Kind  # of the opponent
    score: float
    terminated: bool
    stats: dict[str, float]
    lead: float = 0.0  # half the difference of the payoffs of learner and opponent; 0 if the game does not count them

    @property
    def mirror(self) -> bool:
        """True if the learner played both seats."""
        return self.kind == "current"


@dataclass(frozen=True, slots=True)
class Collected:
    """A whole segment of one block; there are no halves."""

    rollout: Rollout
    episodes: list[Episode]
    met: Counter[str]  # opponents assigned in this segment, by id
    in_play: frozenset[str]  # frozen opponents that unfinished episodes still need
    notes: tuple[str, ...] = ()  # notes of the games
    buffers: BufferPool | None = field(default=None, repr=False, compare=False)  # that the observations come from

    def release(self) -> None:
        """Give the observations' array back to the block: nothing may read them afterwards, and call this only once."""
        if self.buffers is not None:
            self.buffers.give_back(self.rollout.obs)


class GameBlock(Resource, Protocol):
    """A block of games, wherever it lives."""

    def collect(self, order: SegmentOrder) -> Collected:
        """Play one segment, for whose duration it blocks; RunnerError if the games failed and there is no segment."""

    def snapshot(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Everything the next segment depends on: arrays, and a JSON document."""
