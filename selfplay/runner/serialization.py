"""Encoding of messages on a link: arrays, and JSON documents that describe them. Both ends must run the same code.

No Python objects cross. A network is sent once, as its weights and its structure, under a key; orders name it by that
key. Received arrays are copied: those of a shared store are read-only views that keep its memory.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import astuple, fields
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from numpy.typing import NDArray

from selfplay.checkpoint import ActionHeads, NetworkSpec
from selfplay.distribution import entry_points, is_of_project, package_folder
from selfplay.errors import RunnerError
from selfplay.games.plugins import allow
from selfplay.games.snapshots import copied
from selfplay.league.modes import Opponent
from selfplay.policy.network import ActorCritic
from selfplay.policy.policy import parameters_of, set_parameters
from selfplay.rollout.rollout import Rollout
from selfplay.runner.segment import Collected, Episode, SegmentOrder

Arrays = Mapping[str, NDArray[Any]]
Document = dict[str, Any]
Packed = tuple[Arrays, Document]
Key = Callable[[ActorCritic], str]  # the key of a network; a new one gets a new key
ARITHMETIC: Final = ("numpy", "numba", "torch")  # libraries whose other releases compute other bits


def pack_network(network: ActorCritic) -> Packed:
    heads = network.heads
    actions = {"binary": heads.binary, "sizes": list(heads.sizes)}
    return parameters_of(network), {"network": network.spec.model_dump(mode="json"), "actions": actions}


def unpack_network(packed: Packed) -> ActorCritic:
    """A frozen network of the same bits; IncompatibleError for weights of another one."""
    arrays, document = packed
    allow(document["network"]["kind"])  # the trainer was told to
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


def pack_segment(collected: Collected) -> Packed:
    rollout = collected.rollout
    named = {field.name: getattr(rollout, field.name) for field in fields(Rollout) if field.name != "version"}
    return {name: array for name, array in named.items() if array is not None}, {
        "version": rollout.version,
        "episodes": [list(astuple(episode)) for episode in collected.episodes],
        "met": dict(collected.met),
        "in_play": sorted(collected.in_play),
        "notes": list(collected.notes),
    }


def unpack_segment(packed: Packed) -> Collected:
    """The segment, in arrays of our own."""
    arrays, document = packed
    return Collected(
        Rollout(document["version"], **copied(arrays)),
        [Episode(*episode) for episode in document["episodes"]],
        Counter(document["met"]),
        frozenset(document["in_play"]),
        tuple(document["notes"]),
    )


@cache
def code_hash() -> str:
    """SHA-256 of the sources of this project and of the releases of ``ARITHMETIC``, without their device suffixes."""
    digest = hashlib.sha256()
    for library in ARITHMETIC:
        digest.update(f"{library} {version(library).partition('+')[0]}\n".encode())
    games = (point.value.partition(".")[0] for point in entry_points("selfplay.games").values() if is_of_project(point))
    for package in sorted({"selfplay", *games}):
        folder = package_folder(package)
        for file in sorted(folder.rglob("*.py")):
            digest.update(f"{package}/{file.relative_to(folder)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def refuse_other_code(theirs: str) -> None:
    """Refuse another ``code_hash`` of the other end (RunnerError): messages might be misread."""
    if theirs != code_hash():
        raise RunnerError(
            f"a node of the cluster has another version of this project, or of {', '.join(ARITHMETIC)}: install the "
            "same ones everywhere"
        )
