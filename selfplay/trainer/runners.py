"""Runners in the pool of a training run, and how patient their supervisors are."""

from __future__ import annotations

from typing import Final

from selfplay.errors import RunnerError
from selfplay.supervision import ChildSpec, ParkPolicy, Pool, Supervisor

PARK: Final = ParkPolicy(max_restarts=10, period_s=60.0)
PARK_ELSEWHERE: Final = ParkPolicy(max_restarts=3, period_s=300.0)
"""Of runners whose games are on other machines: where none has room, each attempt takes a while to say so."""
NODES_BACK_S: Final = 600.0  # for one of a cluster's nodes to come back where all with games are gone
GRACE_S: Final = 30.0  # for the learner to end the iteration it is in


class Runners:
    """Runners by id, in the pool that runs now."""

    def __init__(self, root: Supervisor) -> None:
        self._pool = root.find("runners", Pool)

    async def start(self, spec: ChildSpec) -> None:
        """Start one; returns when it is ready.

        Raises:
            RunnerError: a runner of this id is there already.
        """
        if spec.id in self.ids():
            raise RunnerError(f"a runner {spec.id!r} is there already")
        await self._pool.start_child(spec)

    async def stop(self, runner: str) -> None:
        """Stop one for good."""
        await self._pool.terminate_child(runner)

    def ids(self) -> list[str]:
        """Of all runners, in start order."""
        return [child.id for child in self._pool.which_children()]

    def count(self) -> int:
        """How many there are."""
        return len(self.ids())
