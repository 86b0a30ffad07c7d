"""Dialogue games in another process: its model gets its files once and its weights with each version.

The files of the model folder are sent, so that the other machine needs no copy; the base model of an adapter is looked
up there by name.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from envs.dialogue.contract import Turn, Verdict
from envs.registry import find_dialogue
from envs.snapshots import copied
from selfplay.errors import RunnerError
from selfplay.policy.language.loading import load_model
from selfplay.policy.language.sampling import Sampling
from selfplay.policy.language.writer import LocalWriter
from selfplay.policy.policy import set_parameters
from selfplay.rollout.dialogue import Instance
from selfplay.runner.block_client import LinkClient
from selfplay.runner.chaos import FaultPlan
from selfplay.runner.dialogue import Lost, Played
from selfplay.runner.dialogue_collector import DialogueCollector, Order
from selfplay.runner.faulty_dialogue import faulty
from selfplay.runner.serialization import Arrays, Document, Packed, code_hash

if TYPE_CHECKING:
    from selfplay.runner.block_client import Link

Result = Played | Lost
Files = Mapping[str, bytes]


class DialogueGames(Protocol):
    """Dialogue games, in this process or another (``Resource``)."""

    def collect(self, order: Order) -> list[Result]:
        """Play an order to its end. Blocks."""
        ...

    def cancel(self) -> None:
        """See ``Resource``."""
        ...

    def kill(self) -> bool:
        """See ``Resource``."""
        ...

    def close(self) -> None:
        """See ``Resource``."""
        ...


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a model folder by name."""
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}


class Published:
    """The weights of now, stored once a version for all that play with them.

    Args:
        put: Stores arrays; gives what links take as an argument in their place.
    """

    def __init__(self, put: Callable[[Arrays], object]) -> None:
        self._put = put
        self.version = 0
        self.arrays: object = None  # what stands for them

    def publish(self, arrays: Arrays) -> None:
        """New weights; nobody plays meanwhile. Blocks."""
        self.arrays = self._put(arrays)
        self.version += 1


class DialogueClient(LinkClient):
    """Plays on the other end of a link (``DialogueGames``), served by a ``DialogueServer``.

    Args:
        link: To it.
        weights: Of now; published before the first order.
        document: What ``DialogueServer.open`` is told.
        files: What stands for the model's.
    """

    def __init__(self, link: Link, weights: Published, document: Document, files: object) -> None:
        super().__init__(link)
        self._weights = weights
        self._document = document
        self._files = files
        self._sent = 0

    def open(self) -> None:
        """Read the model there. Blocks."""
        self._reach()
        self._link.call("open", self._document, self._files)

    def collect(self, order: Order) -> list[Result]:
        """See ``DialogueGames``."""
        version = self._weights.version
        new = () if version == self._sent else (self._weights.arrays,)
        packed = self._link.call("collect", asdict(order), *new)
        self._sent = version
        return unpack_games(packed)


class DialogueServer:
    """A model that plays orders; one call at a time."""

    def __init__(self) -> None:
        self._collector: DialogueCollector | None = None
        self._module: Any = None

    @staticmethod
    def code() -> str:
        """See ``serialization.code_hash``."""
        return code_hash()

    def open(self, document: Document, files: Files) -> None:
        """Read the model and find the game.

        Args:
            document: ``game``, whether the model is ``embedded``, the ``settings`` of the rules, the ``sampling``, and
                of the model ``rows`` and ``bf16``; ``faults`` to inject, if any.
            files: Of the model's folder.

        Raises:
            ConfigError, GameError: something of that is not to be had here.
        """
        torch.set_num_threads(1)
        entry = find_dialogue(document["game"])
        rules = entry.configure(document["embedded"], document["settings"])
        if document["faults"] is not None:
            entry = faulty(entry, FaultPlan(**document["faults"]), lambda _: None, os.getpid())
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                (Path(folder) / Path(name).name).write_bytes(content)
            model = load_model(folder, rows=document["rows"], bf16=document["bf16"])
        sampling = Sampling(**document["sampling"])
        self._module = model.module
        self._collector = DialogueCollector(entry, rules, lambda: LocalWriter(model, sampling))

    def collect(self, order: Document, weights: Arrays | None = None) -> Packed:
        """Play an order, with ``weights`` where they are new."""
        if self._collector is None:
            raise RunnerError("dialogue games were requested before their model was loaded")
        if weights is not None:
            set_parameters(self._module, copied(weights))
        unpacked = Order(tuple(order["indices"]), tuple(order["seeds"]), order["games_each"])
        return pack_games(self._collector.collect(unpacked))


def pack_games(games: Sequence[Result]) -> Packed:
    """Games that have ended: tokens side by side, and what else is known of them."""
    instances = [instance for game in games if isinstance(game, Played) for instance in game.instances]
    columns = {
        name: np.concatenate([np.empty(0, dtype), *(getattr(instance, name) for instance in instances)])
        for name, dtype in (("ids", np.int32), ("sampled", np.bool_), ("logprob", np.float32))
    }
    return columns, {"games": [_told(game) for game in games]}


def _told(game: Result) -> Document:
    if isinstance(game, Lost):
        return {"game_id": game.game_id, "why": game.why}
    return {
        "game_id": game.game_id,
        "index": game.index,
        "seed": game.seed,
        "rewards": list(game.verdict.rewards),
        "reason": game.verdict.reason,
        "turns": [list(astuple(turn)) for turn in game.turns],
        "record": game.record,
        "read": [list(seat) for seat in game.read],
        "rows": [[instance.seat, len(instance.ids), instance.reward] for instance in game.instances],
    }


def unpack_games(packed: Packed) -> list[Result]:
    """The games, in arrays of our own."""
    arrays, document = packed
    columns, at = copied(arrays), 0
    found: list[Result] = []
    for told in document["games"]:
        if "why" in told:
            found.append(Lost(told["game_id"], told["why"]))
            continue
        instances = []
        for seat, length, reward in told["rows"]:
            part = slice(at, at + length)
            at += length
            ids, sampled, logprob = (columns[name][part] for name in ("ids", "sampled", "logprob"))
            instances.append(Instance(told["index"], told["game_id"], seat, ids, sampled, logprob, reward))
        first, second = (tuple(seat) for seat in told["read"])
        rewards = told["rewards"]
        found.append(
            Played(
                told["index"], told["game_id"], told["seed"], Verdict((rewards[0], rewards[1]), told["reason"]),
                tuple(Turn(*turn) for turn in told["turns"]), told["record"], (first, second), tuple(instances),
            )
        )  # fmt: skip
    return found
