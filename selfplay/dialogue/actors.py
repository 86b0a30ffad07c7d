"""Runners of dialogue games in actors of a cluster."""

from __future__ import annotations

from dataclasses import asdict
from operator import methodcaller
from threading import Lock
from typing import TYPE_CHECKING, Any

from selfplay.dialogue.link import DialogueClient, DialogueServer, PublishedWeights, files_of
from selfplay.dialogue.rules import is_embedded
from selfplay.league.records import generation_id
from selfplay.machine import usable_cores
from selfplay.runner.game_runner import SlowOpening, Turns
from selfplay.runner.work_queue import FIRST_TIMEOUT_S

if TYPE_CHECKING:
    from selfplay.dialogue.session import DialogueSession
    from selfplay.runner.chaos import FaultPlan
    from selfplay.runner.ray_cluster import Cluster

TURN_S = 5.0  # until the next one may open


class Actors:
    """Opens runners of a run in actors of a cluster, with the current ``weights``."""

    def __init__(self, session: DialogueSession, cluster: Cluster, weights: PublishedWeights) -> None:
        self._session = session
        self._cluster = cluster
        self._weights = weights
        self._lock = Lock()
        self._files: object = None
        self.opening = SlowOpening(Turns(max(2, usable_cores()), TURN_S), methodcaller("open"), FIRST_TIMEOUT_S)

    def open(self, runner: str, faults: FaultPlan | None) -> DialogueClient:
        """The games of a runner. Called in its thread."""
        with self._lock:
            if self._files is None:  # of the first generation; its weights are replaced before the first order
                self._files = self._cluster.put(files_of(self._session.run.generations / generation_id(0)))
        link = self._cluster.link(DialogueServer, runner)
        return DialogueClient(link, self._weights, self._document(faults), self._files)

    def _document(self, faults: FaultPlan | None) -> dict[str, Any]:
        config = self._session.config
        return {
            "game": config.game.type,
            "embedded": is_embedded(config),
            "settings": config.game.settings,
            "sampling": asdict(self._session.sampling),
            "rows": config.model.rows,
            "bf16": config.model.bf16,
            "faults": None if faults is None else asdict(faults),
        }
