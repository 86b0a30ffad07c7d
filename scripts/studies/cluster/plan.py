"""Cost of a cluster of so many games, calculated from measured rates: bytes, messages and the learner's load.

docs/cluster.md explains the formulas. Units: bytes, seconds.
B games of a block, T steps of a segment, D observation features, A action parts; two columns a game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

COLUMNS: Final = 2
STEP_BYTES: Final = 18  # log-probability, value, reward and next value, 4 bytes each; boundary, learner
END_BYTES: Final = 17  # where an episode ended, and whether by the game itself


@dataclass(frozen=True, slots=True)
class Rates:
    """Measured rates of one machine."""

    actor_steps_per_s: float  # of all games of one actor, including inference
    update_rows_per_s: float  # of the learner, each row counted once for all epochs
    link_bytes_per_s: float  # into the learner's node, of segments
    call_s: float  # round trip of one order to an actor
    calls_per_s: float  # the most that a trainer can make


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the game, the segments and the network."""

    obs: int  # D
    parts: int  # A
    steps: int  # T
    parameters: int  # of the network
    episode_steps: int  # typical length
    real_time_s: float = 0.0  # least seconds of a step


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """A cluster, and an iteration on it."""

    games: int
    actors: int
    nodes: int
    segment_bytes: int  # of one actor
    in_bytes: int  # into the learner's node, an iteration
    out_bytes: int  # of weights, an iteration: once a node
    store_bytes: int  # segments and weights in object stores at once
    collect_s: float
    transfer_s: float
    update_s: float
    calls_per_s: float
    share_of_calls: float  # of ``Rates.calls_per_s``

    @property
    def iteration_s(self) -> float:
        """Play, transfer and update follow each other."""
        return self.collect_s + self.transfer_s + self.update_s

    @property
    def learner_load(self) -> float:
        """Share of the time in which the learner works, which more actors cannot shorten."""
        return self.update_s / self.iteration_s


def segment_bytes(shape: Shape, games: int) -> int:
    """Bytes of a segment of so many games: rows, last observations and ends of episodes."""
    row = 4 * shape.obs + shape.parts + STEP_BYTES
    ends = shape.steps / shape.episode_steps
    return round(COLUMNS * games * (shape.steps * row + 4 * shape.obs + ends * (4 * shape.obs + END_BYTES)))


def plan(games: int, each: int, per_node: int, shape: Shape, rates: Rates) -> ClusterPlan:
    """Plan for so many games in blocks of ``each``, with ``per_node`` actors on a node."""
    actors = -(-games // each)
    nodes = -(-actors // per_node)
    segment = segment_bytes(shape, each)
    inward, weights = segment_bytes(shape, games), 4 * shape.parameters
    step_s = max(each / rates.actor_steps_per_s, shape.real_time_s)
    collect = shape.steps * step_s + rates.call_s
    transfer = max(inward / rates.link_bytes_per_s, actors / rates.calls_per_s)
    update = COLUMNS * games * shape.steps / rates.update_rows_per_s
    calls = actors / (collect + transfer + update)
    return ClusterPlan(
        games=games, actors=actors, nodes=nodes, segment_bytes=segment, in_bytes=inward, out_bytes=weights * nodes,
        store_bytes=inward + 2 * weights * nodes, collect_s=collect, transfer_s=transfer, update_s=update,
        calls_per_s=calls, share_of_calls=calls / rates.calls_per_s,
    )  # fmt: skip


def table(plans: Sequence[ClusterPlan]) -> str:
    """Plans as rows of Markdown."""
    head = (
        "| games | actors | nodes | a segment | segments in | weights out | in stores | play | transfer | update "
        "| iteration | learner's load | calls |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    )
    rows = (
        f"| {p.games:,} | {p.actors:,} | {p.nodes:,} | {_mb(p.segment_bytes)} | {_mb(p.in_bytes)} | {_mb(p.out_bytes)} "
        f"| {_mb(p.store_bytes)} | {p.collect_s:.2f} s | {p.transfer_s:.2f} s | {p.update_s:.2f} s "
        f"| {p.iteration_s:.2f} s | {p.learner_load:.0%} | {p.calls_per_s:,.0f}/s ({p.share_of_calls:.0%}) |"
        for p in plans
    )
    return head + "\n".join(rows)


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.2f} GB"
