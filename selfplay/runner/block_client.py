"""The trainer's end of a block of games in another process, over any ``Link``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from numpy.typing import NDArray

from selfplay.games.snapshots import copied
from selfplay.runner.serialization import (
    Packed,
    networks_of,
    pack_network,
    pack_order,
    refuse_other_code,
    unpack_segment,
)

if TYPE_CHECKING:
    from selfplay.policy.network import ActorCritic
    from selfplay.runner.block_server import Opening
    from selfplay.runner.segment import Collected, SegmentOrder


class Link(Protocol):
    """Calls one object in another process, which serves this link alone."""

    def ready(self) -> None:
        """Wait until the object is there; RunnerError if it cannot be."""

    def call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401
        """Call a method of the object; RunnerError without a result. Stored arguments arrive as values. Blocks."""

    def sever(self) -> None:
        """Make pending calls fail at once. Does not block; for other threads to call."""

    def close(self) -> None:
        """End the object, even if it is busy."""


class WeightStore:
    """Stores each network once for all blocks on other links. Networks that are garbage here are dropped.

    ``put`` stores packed arrays, and gives what links take as an argument in their place.
    """

    def __init__(self, put: Callable[[Packed], object]) -> None:
        self._put = put
        self._lock = threading.Lock()
        self._numbers = count()
        self._there: WeakKeyDictionary[ActorCritic, tuple[str, object]] = WeakKeyDictionary()

    def find(self, network: ActorCritic) -> tuple[str, object]:
        """The key of a network, and what stands for its arrays. Blocks while it is stored; any thread may ask."""
        with self._lock:
            if network not in self._there:
                self._there[network] = f"network-{next(self._numbers)}", self._put(pack_network(network))
            return self._there[network]


@dataclass(eq=False)
class LinkClient:
    """Base of resources at the other end of a link (``Resource``)."""

    link: Link

    def _reach(self) -> None:
        """Wait for the other end; RunnerError where it cannot be there, or is of other code."""
        self.link.ready()
        refuse_other_code(self.link.call("code"))

    def cancel(self) -> None:
        self.link.sever()

    def kill(self) -> bool:
        """See ``Resource``: closing ends the other end, and it never hangs."""
        self.link.sever()
        return True

    def close(self) -> None:
        self.link.close()


@dataclass(eq=False)
class BlockClient(LinkClient):
    """A block of games on the other end of a link (``GameBlock``), served by a ``BlockServer``."""

    weights: WeightStore
    opening: Callable[[], Opening]  # how the games are made; called once the other end is there
    compiling: Callable[[float], object] = lambda _: None
    """Called now and then while the other end compiles the rules, with the seconds so far."""
    _opening: Opening | None = None
    _sent: frozenset[str] = frozenset()  # networks of the last order, which the other end still has

    def open(self) -> bool:
        """Make and begin the games, where there is room; False while the other end compiles: call again. Blocks."""
        if self._opening is None:
            self._reach()
            self._opening = self.opening()
        opening = self._opening
        arrays, opponents = opening.snapshot
        document = {field.name: getattr(opening, field.name) for field in fields(opening)}
        faults = None if opening.faults is None else asdict(opening.faults)
        seconds = self.link.call("open", document | {"snapshot": opponents, "faults": faults}, dict(arrays))
        if seconds is not None:
            self.compiling(seconds)
        return seconds is None

    def collect(self, order: SegmentOrder) -> Collected:
        found = {network: self.weights.find(network) for network in networks_of(order)}
        named = dict(found.values())
        new = [key for key in named if key not in self._sent]
        packed = pack_order(order, lambda network: found[network][0])
        segment = self.link.call("collect", packed, new, *(named[key] for key in new))
        self._sent = frozenset(named)
        return unpack_segment(segment)

    def snapshot(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, document = self.link.call("snapshot")
        return copied(arrays), document
