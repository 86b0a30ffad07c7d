"""What goes to a block of games elsewhere and what comes back: arrays, and JSON documents that say what they are.

Nothing here is an object that only our classes could read. A network is its structure and its weights; it crosses once,
under a key, and an order names it by that key. Arrays that are taken in are copied: those of a shared store are views
that keep its memory, and cannot be written to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.league.modes import Opponent
from selfplay.policy.network import ActorCritic
from selfplay.policy.policy import parameters_of, set_parameters
from selfplay.rollout.rollout import Rollout
from selfplay.runner.chaos import Fault
from selfplay.runner.segment import Collected, Episode, SegmentOrder

if TYPE_CHECKING:
    from selfplay.runner.chaos import Kind

Arrays = Mapping[str, NDArray[Any]]
Document = dict[str, Any]
Parcel = tuple[Arrays, Document]
Key = Callable[[ActorCritic], str]
"""The key of a network; one that was not seen before gets a new one."""


def copied(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Arrays of our own."""
    return {name: np.array(array) for name, array in arrays.items()}


def pack_network(network: ActorCritic) -> Parcel:
    """Its weights and its structure."""
    heads = network.heads
    actions = {"binary": heads.binary, "sizes": list(heads.sizes)}
    return parameters_of(network), {"network": network.spec.model_dump(mode="json"), "actions": actions}


def unpack_network(parcel: Parcel) -> ActorCritic:
    """A frozen network of the same bits.

    Raises:
        IncompatibleError: the weights are not those of such a network.
    """
    arrays, document = parcel
    network = ActorCritic(NetworkSpec(**document["network"]), ActionHeads(**document["actions"]))
    set_parameters(network, dict(arrays))
    network.requires_grad_(requires_grad=False)
    return network.eval()


def pack_order(order: SegmentOrder, key: Key) -> Document:
    """An order with keys in the place of its networks."""
    return {
        "iteration": order.iteration,
        "steps": order.steps,
        "version": order.version,
        "network": key(order.network),
        "frozen": {name: key(network) for name, network in order.frozen.items()},
        "opponents": [list(astuple(opponent)) for opponent in order.opponents],
        "teacher": None if order.teacher is None else key(order.teacher),
    }


def networks_of(order: SegmentOrder) -> list[ActorCritic]:
    """All that an order names, each once."""
    named = [order.network, *order.frozen.values(), *(() if order.teacher is None else (order.teacher,))]
    return list(dict.fromkeys(named))


def unpack_order(document: Document, networks: Mapping[str, ActorCritic]) -> SegmentOrder:
    """The order, with the networks of its keys."""
    teacher = document["teacher"]
    return SegmentOrder(
        document["iteration"],
        document["steps"],
        document["version"],
        networks[document["network"]],
        {name: networks[key] for name, key in document["frozen"].items()},
        tuple(Opponent(*opponent) for opponent in document["opponents"]),
        None if teacher is None else networks[teacher],
    )


def pack_segment(collected: Collected) -> Parcel:
    """A whole segment."""
    rollout = collected.rollout
    named = {field.name: getattr(rollout, field.name) for field in fields(Rollout) if field.name != "version"}
    return {name: array for name, array in named.items() if array is not None}, {
        "version": rollout.version,
        "episodes": [list(astuple(episode)) for episode in collected.episodes],
        "met": dict(collected.met),
        "in_play": sorted(collected.in_play),
        "notes": list(collected.notes),
    }


def unpack_segment(parcel: Parcel) -> Collected:
    """The segment, in arrays of our own."""
    arrays, document = parcel
    return Collected(
        Rollout(document["version"], **copied(arrays)),
        [Episode(*episode) for episode in document["episodes"]],
        Counter(document["met"]),
        frozenset(document["in_play"]),
        tuple(document["notes"]),
    )


def pack_fault(fault: Fault | None) -> Document | None:
    """What is to happen, without whom to tell."""
    return None if fault is None else {"kind": fault.kind, "at": fault.at, "chance": fault.chance}


def unpack_fault(document: Document | None, pid: int) -> Fault | None:
    """The fault, in a process that may be stopped or killed for it."""
    if document is None:
        return None
    kind: Kind = document["kind"]
    return Fault(kind, document["at"], document["chance"], _untold, pid)


def _untold() -> None:
    """Whoever ordered a fault has counted it."""
