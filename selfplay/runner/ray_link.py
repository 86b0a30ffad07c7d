"""Links to Ray actors. An actor lives as long as the link that made it: Ray restarts none, our supervisor does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import contextmanager, suppress
from typing import Any, Final

from envs.errors import GameError
from selfplay.errors import RunnerError, SelfPlayError, describe

ROOM_S: Final = 5.0  # in which a CPU must be found for an actor
_LONGEST: Final = 300  # characters of Ray's message about a dead actor


class RayLink:
    """An actor of its own in a cluster (``block_client.Link``).

    Args:
        ray: The module, connected.
        kind: Class of the actor; made without arguments, which must not fail.
        name: What it is for, in messages.
    """

    def __init__(self, ray: Any, kind: type, name: str) -> None:  # noqa: ANN401
        self._ray = ray
        self._kind = kind
        self._name = name
        self._severed: Future[None] = Future()
        self._actor: Any = None
        with _runner_error(name):
            # Without one, an actor that waits for a CPU could not be told from one that starts slowly.
            self._place = ray.util.placement_group([{"CPU": 1}])

    def ready(self) -> None:
        """See ``Link``; blocks until the actor has begun."""
        with _runner_error(self._name):
            free = 0.0 if (placed := self._place.wait(ROOM_S)) else self._ray.available_resources().get("CPU", 0.0)
        if not placed:
            raise RunnerError(
                f"{self._name}: no node of the cluster has had room for its actor within {ROOM_S:g} s: it needs 1 CPU "
                f"of one node; {free:g} are free on all together"
            )
        with _runner_error(self._name):
            there = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(self._place)
            remote = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy=there)
            self._actor = remote(self._kind).remote()
        self.call("__ray_ready__")

    def call(self, method: str, *arguments: object, **named: object) -> Any:  # noqa: ANN401
        with _runner_error(self._name):
            answer: Future[Any] = getattr(self._actor, method).remote(*arguments, **named).future()
        wait([answer, self._severed], return_when=FIRST_COMPLETED)
        return self._answer(answer)

    def sever(self) -> None:
        with suppress(InvalidStateError):  # it was already
            self._severed.set_result(None)

    def close(self) -> None:
        self.sever()
        with suppress(Exception):  # theirs: the cluster is gone, and the actor with it
            self._ray.util.remove_placement_group(self._place)  # and whatever is in it

    def _answer(self, answer: Future[Any]) -> Any:  # noqa: ANN401
        if not answer.done():
            raise RunnerError(f"{self._name}: its actor is no longer waited for")
        with _runner_error(self._name):
            return answer.result()


@contextmanager
def _runner_error(name: str) -> Iterator[None]:
    """Convert errors of an actor to RunnerError with the first cause."""
    try:
        yield
    except Exception as error:  # theirs; what an actor raised is in it, and may be of its class, with a page of text
        cause = getattr(error, "cause", None)
        if isinstance(error, SelfPlayError) and cause is None:
            raise
        if isinstance(cause, SelfPlayError | GameError):
            raise RunnerError(str(cause)) from None
        if isinstance(cause, Exception):
            raise RunnerError(describe(cause)) from None
        raise RunnerError(f"{name}: its actor is gone: {first_cause(str(error))}") from None


def first_cause(text: str) -> str:
    """The reason in Ray's message about a dead actor."""
    line = " ".join(text.split())
    found = re.search(
        r"(?:is dead|died) because (.+)|unavailable: (?:The actor is temporarily unavailable: )?(.+)", line
    )
    reason = next(filter(None, found.groups())) if found else line
    return re.split(r"\.? (?:Worker exit type|Some common causes|The task may)", reason)[0].rstrip(". ")[:_LONGEST]
