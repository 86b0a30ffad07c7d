"""The other end of a remote block: it plays where games are to live, and knows nothing of what carries its calls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envs.registry import make_game
from selfplay.errors import RunnerError
from selfplay.policy.memory import Ask, directly
from selfplay.runner.block import Block
from selfplay.runner.parcels import (
    Arrays,
    Document,
    Parcel,
    copied,
    pack_segment,
    unpack_fault,
    unpack_network,
    unpack_order,
)
from selfplay.runner.process_game import ProcessGame
from selfplay.runner.same_code import code_hash

if TYPE_CHECKING:
    from envs.api import ScriptedGame
    from selfplay.policy.network import ActorCritic


@dataclass(frozen=True, slots=True)
class Opening:
    """How a block of games is made, anywhere."""

    game: str
    options: dict[str, Any]  # of the game, JSON-able
    seed: int  # of the block
    process: bool  # whether the games live in a child process, as real ones must
    start_timeout_s: float | None  # of that process
    live: bool  # games that take long to begin, and are not continued
    snapshot: Parcel  # to go on from; an empty one begins anew


def open_block(opening: Opening, ask: Ask = directly) -> Block:
    """Make a block of games, which go on or are compiled; ``ask`` is how networks are asked.

    Raises:
        GameError: the game refuses its options.
        RunnerError: its process has ended.
    """
    game: ScriptedGame
    if opening.process:
        game = ProcessGame(opening.game, opening.options, opening.start_timeout_s)
    else:
        game = make_game(opening.game, **opening.options)
    block = Block(game, opening.seed, ask)
    if not opening.live:
        block.warm_up()  # here, where there is time for it: the first segment has the time that segments take
    arrays, document = opening.snapshot
    if arrays:
        block.restore(arrays, document)
    return block


class HostedBlock:
    """A block of games with the networks that play it; one call at a time."""

    def __init__(self) -> None:
        self._block: Block | None = None
        self._networks: dict[str, ActorCritic] = {}

    @staticmethod
    def code() -> str:
        """See ``same_code``."""
        return code_hash()

    def open(self, document: Document, arrays: Arrays) -> None:
        """Make and begin the games of an ``Opening``, told as its fields but for the arrays of its snapshot.

        Raises:
            GameError, RunnerError: see ``open_block``.
        """
        snapshot = copied(arrays), document["snapshot"]
        self._block = open_block(Opening(**document | {"snapshot": snapshot}))
        if document["live"]:
            self._block.begin()

    def collect(self, order: Document, fault: Document | None, keys: Sequence[str], *networks: Parcel) -> Parcel:
        """Play a segment; ``networks`` are those with the ``keys``, of the order's those that this end does not have.

        Raises:
            RunnerError: see ``Games.collect``.
        """
        known = self._networks | {key: unpack_network(parcel) for key, parcel in zip(keys, networks, strict=True)}
        unpacked = unpack_order(order, known)
        named = {order["network"], order["teacher"], *order["frozen"].values()}
        self._networks = {key: network for key, network in known.items() if key in named}
        return pack_segment(self.block.collect(unpacked, unpack_fault(fault, os.getpid())))

    def snapshot(self) -> Parcel:
        """See ``Games``."""
        return self.block.snapshot()

    @property
    def block(self) -> Block:
        """The games.

        Raises:
            RunnerError: they were not opened.
        """
        if self._block is None:
            raise RunnerError("a block of games was asked before it was opened")
        return self._block
