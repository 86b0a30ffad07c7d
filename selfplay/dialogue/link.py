"""Dialogue games in another process, which gets the files of the model once and its weights with each version.

The files are sent, so that the other machine needs no copy; it looks up the base model of an adapter by name.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import torch

from selfplay.dialogue.contract import GameOutcome, Turn
from selfplay.dialogue.faulty import faulty
from selfplay.dialogue.find import find_dialogue
from selfplay.dialogue.instances import Instance
from selfplay.dialogue.language.loading import load_model
from selfplay.dialogue.language.writer import LocalWriter
from selfplay.dialogue.runner import DialogueCollector, DialogueOrder, Lost, Played
from selfplay.dialogue.tally import Tally
from selfplay.errors import RunnerError
from selfplay.games.plugins import allow
from selfplay.games.snapshots import copied
from selfplay.learner.sampling import Sampling
from selfplay.policy.policy import set_parameters
from selfplay.runner.block_client import LinkClient
from selfplay.runner.chaos import FaultPlan
from selfplay.runner.game_runner import Resource
from selfplay.runner.serialization import Arrays, Document, Packed, code_hash

Result = Played | Lost
Files = Mapping[str, bytes]
EVERY_S: Final = 10.0  # between two signs of progress of a server


class DialogueGames(Resource, Protocol):
    """Dialogue games, in this process or another."""

    @property
    def progress(self) -> int:
        """Grows while replies are being written."""

    def collect(self, order: DialogueOrder, tally: Tally | None = None) -> list[Result]:
        """Play an order to its end, and count in ``tally``. Blocks."""


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}


@dataclass(slots=True)
class PublishedWeights:
    """The current weights, stored once per version for all links."""

    put: Callable[[Arrays], object]  # stores arrays; returns a reference that links accept as an argument
    version: int = 0
    arrays: object = None  # reference to them

    def publish(self, arrays: Arrays) -> None:
        """Store new weights, while no games are played. Blocks."""
        self.arrays = self.put(arrays)
        self.version += 1


@dataclass(eq=False)
class DialogueClient(LinkClient):
    """Plays on the other end of a link (``DialogueGames``), served by a ``DialogueServer``.

    The weights must be published before the first order; ``document`` and ``files`` are for ``DialogueServer.open``.
    """

    weights: PublishedWeights
    document: Document
    files: object
    progress: int = 0  # see ``DialogueGames``
    _sent: int = 0  # version of the weights

    def open(self) -> None:
        """Load the model there. Blocks."""
        self._reach()
        self.link.call("open", self.document, self.files)

    def collect(self, order: DialogueOrder, tally: Tally | None = None) -> list[Result]:
        version = self.weights.version
        new = () if version == self._sent else (self.weights.arrays,)
        found = self.link.call("collect", asdict(order), *new)
        self._sent = version
        while isinstance(found, dict):
            self.progress = found.pop("progress")
            for name, count in found.items() if tally is not None else ():
                setattr(tally, name, count)
            found = self.link.call("more")
        return unpack_games(found)


class DialogueServer:
    """A model that plays orders; one call at a time."""

    def __init__(self) -> None:
        self._collector: DialogueCollector | None = None
        self._module: Any = None
        self._playing: Future[list[Result]] = Future()
        self._tally = Tally()

    @staticmethod
    def code() -> str:
        return code_hash()

    def open(self, document: Document, files: Files) -> None:
        """Load the model and the game.

        Args:
            document: ``game``, whether the model is ``embedded``, the ``settings`` of the rules, the ``sampling``, and
                of the model ``rows`` and ``bf16``; ``faults`` to inject, if any.
            files: of the model folder, by name.

        Raises:
            ConfigError, GameError: the game or the model is not available here.
        """
        torch.set_num_threads(1)
        allow(document["game"])  # the trainer was told to
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
        self._collector = DialogueCollector(entry, rules, LocalWriter(model, sampling))

    def collect(self, order: Document, weights: Arrays | None = None) -> Packed | Document:
        """Play an order, first loading new ``weights`` if given; see ``more``."""
        if self._collector is None:
            raise RunnerError("dialogue games were requested before their model was loaded")
        if weights is not None:
            set_parameters(self._module, copied(weights))
        unpacked = DialogueOrder(tuple(order["indices"]), tuple(order["seeds"]), order["games_each"])
        thread = ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,))
        self._tally = Tally()
        self._playing = thread.submit(self._collector.collect, unpacked, self._tally)
        thread.shutdown(wait=False)  # it ends with the order
        return self.more()

    def more(self) -> Packed | Document:
        """The games of the order, or its progress and counts so far if it goes on: call again."""
        if self._collector is not None and not wait([self._playing], EVERY_S).done:
            return {"progress": self._collector.progress, **asdict(self._tally)}
        return pack_games(self._playing.result())


def pack_games(games: Sequence[Result]) -> Packed:
    """Games as concatenated token arrays and a document."""
    instances = [instance for game in games if isinstance(game, Played) for instance in game.instances]
    columns = {
        name: np.concatenate([np.empty(0, dtype), *(getattr(instance, name) for instance in instances)])
        for name, dtype in (("ids", np.int32), ("sampled", np.bool_), ("logprob", np.float32))
    }
    return columns, {"games": [_document(game) for game in games]}


def _document(game: Result) -> Document:
    if isinstance(game, Lost):
        return {"game_id": game.game_id, "why": game.why}
    return {
        "game_id": game.game_id,
        "index": game.index,
        "seed": game.seed,
        "rewards": list(game.outcome.rewards),
        "reason": game.outcome.reason,
        "turns": [list(astuple(turn)) for turn in game.turns],
        "record": game.record,
        "read": [list(seat) for seat in game.read],
        "rows": [[instance.seat, len(instance.ids), instance.reward] for instance in game.instances],
    }


def unpack_games(packed: Packed) -> list[Result]:
    """Inverse of ``pack_games``, with copied arrays."""
    arrays, document = packed
    columns, at = copied(arrays), 0
    found: list[Result] = []
    for row in document["games"]:
        if "why" in row:
            found.append(Lost(row["game_id"], row["why"]))
            continue
        instances = []
        for seat, length, reward in row["rows"]:
            part = slice(at, at + length)
            at += length
            ids, sampled, logprob = (columns[name][part] for name in ("ids", "sampled", "logprob"))
            instances.append(Instance(row["index"], row["game_id"], seat, ids, sampled, logprob, reward))
        first, second = (tuple(seat) for seat in row["read"])
        rewards = row["rewards"]
        found.append(
            Played(
                row["index"], row["game_id"], row["seed"], GameOutcome((rewards[0], rewards[1]), row["reason"]),
                tuple(Turn(*turn) for turn in row["turns"]), row["record"], (first, second), tuple(instances),
            )
        )  # fmt: skip
    return found
