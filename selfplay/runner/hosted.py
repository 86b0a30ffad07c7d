"""The other end of a remote block: it plays where games are to live, and knows nothing of what carries its calls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from envs.registry import make_game
from selfplay.errors import RunnerError
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

if TYPE_CHECKING:
    from envs.api import ScriptedGame
    from selfplay.policy.network import ActorCritic


class HostedBlock:
    """A block of games with the networks that play it; one call at a time."""

    def __init__(self) -> None:
        self._block: Block | None = None
        self._networks: dict[str, ActorCritic] = {}

    def open(
        self, game: str, options: dict[str, Any], seed: int, *, process: bool, start_timeout_s: float | None = None
    ) -> int:
        """Make the games; the id of the process that they are in now.

        Args:
            game: Name.
            options: Of its constructor.
            seed: Of the block.
            process: Whether they live in a child process, as real ones must.
            start_timeout_s: Of that process.

        Raises:
            GameError: the game refuses the options.
            RunnerError: its process has ended.
        """
        made: ScriptedGame
        made = ProcessGame(game, options, start_timeout_s) if process else make_game(game, **options)
        self._block = Block(made, seed)
        return os.getpid()

    def warm_up(self) -> None:
        """See ``Games``."""
        self.block.warm_up()

    def begin(self) -> None:
        """See ``Games``."""
        self.block.begin()

    def collect(self, order: Document, fault: Document | None, keys: Sequence[str], *networks: Parcel) -> Parcel:
        """Play a segment; ``networks`` are those with the ``keys``, of the order's those that this end does not have.

        Raises:
            RunnerError: see ``Games.collect``.
        """
        known = self._networks | {
            key: unpack_network(parcel) for key, parcel in zip(keys, networks, strict=True)
        }
        unpacked = unpack_order(order, known)
        named = {order["network"], order["teacher"], *order["frozen"].values()}
        self._networks = {key: network for key, network in known.items() if key in named}
        return pack_segment(self.block.collect(unpacked, unpack_fault(fault, os.getpid())))

    def snapshot(self) -> Parcel:
        """See ``Games``."""
        return self.block.snapshot()

    def restore(self, arrays: Arrays, document: Document) -> None:
        """See ``Games``."""
        self.block.restore(copied(arrays), document)

    @property
    def block(self) -> Block:
        """The games.

        Raises:
            RunnerError: they were not opened.
        """
        if self._block is None:
            raise RunnerError("a block of games was asked before it was opened")
        return self._block
