"""A sweep on a Ray cluster: each run is trained, and then judged, by an actor on some node."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfplay.errors import ConfigError, SelfPlayError
from selfplay.runner.actors import Actors
from selfplay.runner.match_server import matches_on
from selfplay.runner.serialization import code_hash
from selfplay.sweep.cells import MARKER
from selfplay.sweep.jobs import AT_ONCE_GAMES, Host, Job, Trainer, TrainerProcess

if TYPE_CHECKING:
    from selfplay.ppo.rating import PlayMatches
    from selfplay.runner.block_client import Link
    from selfplay.runner.ray_cluster import Cluster
    from selfplay.sweep.cells import Measured

AGAIN: Final = 3  # times that a run whose actor was lost begins again
WAIT_S: Final = 0.5  # in which a trainer hears that it shall stop


class CellServer:
    """Trains runs in child processes of an actor, one after the other, and judges their policies.

    Jobs and results are no JSON, as all else that goes to actors: Ray pickles them.
    """

    _trainer: TrainerProcess  # the last one

    @staticmethod
    def code() -> str:
        return code_hash()

    @staticmethod
    def missing(marker: str) -> str | None:
        """Name of this node if it has no such file."""
        return None if Path(marker).is_file() else socket.gethostname()

    def start(self, job: Job, place: str) -> None:
        """Start the trainer of a job. Names in it are relative to the folder ``place``, if this node has that."""
        if os.path.isdir(place):
            os.chdir(place)
        self._trainer = TrainerProcess(job, 1)

    def wait(self, seconds: float) -> Measured | str | None:
        """Result of the job; None if its trainer still runs after so many seconds."""
        if not self._trainer.ended(seconds):
            return None
        self._trainer.close()
        return self._trainer.result()

    def ask_to_stop(self) -> None:
        self._trainer.ask_to_stop()


class ActorTrainer:
    """A ``Trainer`` on an actor, which a thread waits for. If the actor is lost, another one goes on with the run."""

    def __init__(self, job: Job, actors: Actors) -> None:
        self.started = time.monotonic()
        self._job, self._actors = job, actors
        self._stopping = threading.Event()
        self._result: Measured | str = ""
        self._thread = threading.Thread(target=self._work, name=job.log.parent.name, daemon=True)
        self._thread.start()

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def result(self) -> Measured | str:
        return self._result

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def close(self) -> None:
        """See ``Trainer``; one that still runs takes all actors with it, as at the end of a sweep."""
        if not self.ended():
            self._actors.close()
        self._thread.join()

    def _work(self) -> None:
        try:
            self._result = self._actors.work(self._job.log.parent.name, self._train, AGAIN, self._stopping.is_set)
        except SelfPlayError as error:
            self._result = str(error)

    def _train(self, link: Link) -> Measured | str:
        link.call("start", self._job, os.getcwd())
        asked = False
        while (found := link.call("wait", WAIT_S)) is None:
            if self._stopping.is_set() and not asked:
                asked = True
                link.call("ask_to_stop")
        result: Measured | str = found
        return result


def on_cluster(cluster: Cluster, jobs: int, folder: Path, notice: Callable[[str], object]) -> Host:
    """The host of a sweep on a cluster, whose nodes must share its folder; ``notice`` is called from any thread."""

    @contextmanager
    def trainers(number: int) -> Iterator[Callable[[Job], Trainer]]:
        link = partial(cluster.link, CellServer)
        with shared(folder) as check, Actors(link, min(jobs, number), check, notice) as actors:
            yield partial(ActorTrainer, actors=actors)

    @contextmanager
    def matches() -> Iterator[tuple[PlayMatches, int]]:
        with matches_on(cluster, jobs, notice) as found:
            yield found.play, max(AT_ONCE_GAMES, found.at_once)

    return Host(jobs, 1, trainers, matches)


@contextmanager
def shared(folder: Path) -> Iterator[Callable[[Link], None]]:
    """A check of ``CellServer`` actors; the ConfigError names a node that does not see the folder."""
    folder = folder.absolute()
    for left in folder.glob(f"{MARKER}*"):
        left.unlink(missing_ok=True)  # by a sweep that was killed
    marker = folder / f"{MARKER}{secrets.token_hex(8)}"

    def check(link: Link) -> None:
        if (node := link.call("missing", str(marker))) is not None:
            raise ConfigError(
                f"--folder {folder}: node {node} of the cluster does not see it; it must be on a file system that all "
                "nodes share, at the same path"
            )

    marker.touch()
    try:
        yield check
    finally:
        marker.unlink(missing_ok=True)
