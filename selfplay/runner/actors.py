"""Actors of a cluster that share the work of a call: what a lost one did is done again by another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Final, Self, TypeVar

from selfplay.errors import ActorLostError, RunnerError
from selfplay.runner.serialization import refuse_other_code
from selfplay.threads import ThreadPool

if TYPE_CHECKING:
    from selfplay.runner.block_client import Link

T = TypeVar("T")
ROOM_BACK_S: Final = 600.0  # that work waits for room in the cluster while no actor is left, as a run does
PAUSE_S: Final = 1.0  # between two tries to find room


class Actors:
    """So many actors, opened at the beginning of a block, and ended at its end.

    ``link`` makes one with a name for messages; its class has a method ``code`` that returns its ``code_hash``.
    ``check`` is called with each new one and raises if it cannot be used. ``notice`` is told of lost actors, from any
    thread.
    """

    def __init__(
        self,
        link: Callable[[str], Link],
        number: int,
        check: Callable[[Link], object] = lambda _: None,
        notice: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.number = number
        self._link, self._check, self._notice = link, check, notice
        self._names = count()
        self._lock = threading.Lock()
        self._links: list[Link] = []  # all of them
        self._idle: list[Link] = []
        self._busy: set[Link] = set()
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        """Open all actors. Blocks; RunnerError if one cannot be, or has other code."""
        with ThreadPool(self.number, "actors") as pool:
            found = [pool.submit(self._open_first) for _ in range(self.number)]
            try:
                self._idle += [each.result() for each in found]
            except BaseException:
                self.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def work(self, what: str, do: Callable[[Link], T], again: int, stopped: Callable[[], bool] = lambda: False) -> T:
        """The result of ``do`` with an actor that is free. Blocks; any thread may call.

        If the actor is lost, another one does it, at most ``again`` times. RunnerError names ``what`` after that, or
        once ``stopped`` says so before an actor has begun.
        """
        lost = 0
        while True:
            link = self._take(what, stopped)
            self._busy.add(link)
            try:
                found = do(link)
            except BaseException as error:
                self._drop(link)  # it may still be at work
                if not isinstance(error, ActorLostError):
                    raise
                lost += 1
                if lost > again or stopped():
                    raise RunnerError(f"{what}: given up after {lost} lost actors, the last: {error}") from error
                self._notice(f"{what} begins again: {error}")
            else:
                with self._lock:
                    self._idle.append(link)
                return found
            finally:
                self._busy.discard(link)

    def close(self) -> None:
        """End all actors; work in progress fails at once."""
        with self._lock:
            self._closed.set()
            links, self._links, self._idle = self._links, [], []
        for link in links:
            link.close()

    def _take(self, what: str, stopped: Callable[[], bool]) -> Link:
        """An actor that is free; a new one for one that was lost, as soon as the cluster has room for it."""
        deadline = time.monotonic() + ROOM_BACK_S
        while True:
            if stopped():
                raise RunnerError(f"{what}: stopped")
            with self._lock:
                if self._idle:
                    return self._idle.pop()
            try:
                return self._open()
            except RunnerError:
                # Those that are at work are free later.
                if self._closed.is_set() or (not self._busy and time.monotonic() > deadline):
                    raise
            self._closed.wait(PAUSE_S)

    def _open_first(self) -> Link:
        try:
            return self._open()
        except ActorLostError:
            return self._open()  # the CPU of an actor that has just ended is free a moment later

    def _open(self) -> Link:
        link = self._link(f"actor-{next(self._names):03d}")
        with self._lock:
            closed = self._closed.is_set()
            self._links.append(link)
        try:
            if closed:
                raise RunnerError("the actors are closed")
            link.ready()
            refuse_other_code(link.call("code"))
            self._check(link)
        except BaseException:
            self._drop(link)
            raise
        return link

    def _drop(self, link: Link) -> None:
        with self._lock:
            if link in self._links:
                self._links.remove(link)
        link.close()
