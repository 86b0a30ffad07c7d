"""Runners of games of words that play in actors of a cluster."""

from __future__ import annotations

from dataclasses import asdict
from threading import Lock
from typing import TYPE_CHECKING, Any

from selfplay.league.records import generation_id
from selfplay.runner.board import FIRST_TIMEOUT_S
from selfplay.runner.game_runner import SlowOpening, Turns
from selfplay.runner.hosted_words import HostedCollector, Published, RemoteCollector, files_of
from selfplay.trainer.dialogue.players import is_embedded
from selfplay.trainer.machine import usable_cores

if TYPE_CHECKING:
    from selfplay.runner.ray_cluster import Cluster
    from selfplay.trainer.dialogue.session import WordsSession

TURN_S = 5.0  # after which the next one may open


class Elsewhere:
    """Opens them.

    Args:
        session: What is trained.
        cluster: Where they play.
        weights: Of now.
    """

    def __init__(self, session: WordsSession, cluster: Cluster, weights: Published) -> None:
        self._session = session
        self._cluster = cluster
        self._weights = weights
        self._lock = Lock()
        self._files: object = None
        self.opening = SlowOpening(Turns(max(2, usable_cores()), TURN_S), RemoteCollector.open, FIRST_TIMEOUT_S)

    def open(self, runner: str, incarnation: int) -> RemoteCollector:
        """What a runner works on, made in its thread."""
        del incarnation  # they are all alike
        with self._lock:
            if self._files is None:  # of the first generation: its weights are replaced before it plays
                self._files = self._cluster.put(files_of(self._session.run.generations / generation_id(0)))
        link = self._cluster.link(HostedCollector, runner)
        return RemoteCollector(link, self._weights, self._document(), self._files)

    def _document(self) -> dict[str, Any]:
        config = self._session.config
        return {
            "game": config.game.type,
            "embedded": is_embedded(config),
            "settings": config.game.settings,
            "sampling": asdict(self._session.sampling),
            "rows": config.model.rows,
            "bf16": config.model.bf16,
        }
