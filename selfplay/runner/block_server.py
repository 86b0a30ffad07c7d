"""The far end of a ``BlockClient``: plays a block of games in the process where they live."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from selfplay.compilation.progress import EVERY_S, Compilation
from selfplay.errors import RunnerError
from selfplay.games.plugins import allow
from selfplay.games.registry import find_game, make_game
from selfplay.games.snapshots import copied
from selfplay.policy.recurrent_state import Infer, infer_directly
from selfplay.runner import PROCESS_MB
from selfplay.runner.block import Block
from selfplay.runner.chaos import FaultPlan, FaultyGame, OnFault
from selfplay.runner.process_game import ProcessGame
from selfplay.runner.serialization import (
    Arrays,
    Document,
    Packed,
    code_hash,
    pack_segment,
    unpack_network,
    unpack_order,
)

if TYPE_CHECKING:
    from selfplay.games.api import ScriptedGame
    from selfplay.policy.network import ActorCritic
    from selfplay.runner.segment import Collected


@dataclass(frozen=True, slots=True)
class Opening:
    """Arguments to make a block of games, in any process."""

    game: str
    options: dict[str, Any]  # of the game, JSON-able
    seed: int  # of the block
    process: bool  # play in a child process, as real games must
    start_timeout_s: float | None  # of that process
    real_time: bool  # games that take long to begin, and are not continued
    snapshot: Packed  # to go on from; an empty one starts from the beginning
    process_mb: int = PROCESS_MB  # that the process may allocate; 0: no limit
    faults: FaultPlan | None = None  # to inject


def open_block(
    opening: Opening, infer: Infer = infer_directly, on_fault: OnFault = lambda _: None, pid: int | None = None
) -> Block:
    """Make a block of games, new or from a snapshot.

    ``on_fault`` is called when a planned fault strikes; ``pid`` is stopped or killed where the games have no process of
    their own.
    """
    game: ScriptedGame
    if opening.process:
        game = ProcessGame(opening.game, opening.options, opening.start_timeout_s, opening.process_mb)
    else:
        game = make_game(opening.game, **opening.options)
    block = Block(game, opening.seed, infer)
    if not opening.real_time:
        block.warm_up()  # here, where there is time for it: the first segment has the time that segments take
    arrays, document = opening.snapshot
    if arrays:
        block.restore(arrays, document)
    if opening.faults is not None:
        pid = game.pid if isinstance(game, ProcessGame) else pid
        block.game = cast("ScriptedGame", FaultyGame(game, opening.faults, on_fault, pid))
    return block


class BlockServer:
    """A block of games with the networks that play it; one call at a time."""

    def __init__(self) -> None:
        self._block: Block | None = None
        self._compilation: Compilation | None = None
        self._networks: dict[str, ActorCritic] = {}
        self._sent: Collected | None = None  # its arrays are free with the next call

    @staticmethod
    def code() -> str:
        return code_hash()

    def open(self, document: Document, arrays: Arrays) -> float | None:
        """Make and begin the games of an ``Opening``, by its fields; or the seconds that compiling took so far."""
        allow(document["game"])  # the trainer was told to
        game = find_game(document["game"])
        if game.prepare is not None and self._compilation is None and not game.starts_at_once():
            self._compilation = Compilation(game.prepare)
        if self._compilation is not None and not self._compilation.wait(EVERY_S):
            return self._compilation.seconds
        snapshot = copied(arrays), document["snapshot"]
        faults = None if document["faults"] is None else FaultPlan(**document["faults"])
        opening = Opening(**document | {"snapshot": snapshot, "faults": faults})
        self._block = open_block(opening, pid=os.getpid())
        if document["real_time"]:
            self._block.begin()
        return None

    def collect(self, order: Document, keys: Sequence[str], *networks: Packed) -> Packed:
        """Play a segment; ``networks``, by ``keys``, are those of the order that this end does not have."""
        known = self._networks | {key: unpack_network(packed) for key, packed in zip(keys, networks, strict=True)}
        unpacked = unpack_order(order, known)
        named = {order["network"], order["teacher"], *order["frozen"].values()}
        self._networks = {key: network for key, network in known.items() if key in named}
        if self._sent is not None:
            self._sent.release()
            self._sent = None
        self._sent = self.block.collect(unpacked)
        return pack_segment(self._sent)

    def snapshot(self) -> Packed:
        return self.block.snapshot()

    @property
    def block(self) -> Block:
        """The games; RunnerError if they were not opened."""
        if self._block is None:
            raise RunnerError("a block of games was asked before it was opened")
        return self._block
