"""Runners in the pool of a training run, and how patient their supervisors are."""

from __future__ import annotations

from typing import Final

from selfplay.errors import RunnerError
from selfplay.runner.work_queue import Patience
from selfplay.supervision import ChildSpec, ParkPolicy, Pool, Supervisor, SupervisorSpec

PARK: Final = ParkPolicy(max_restarts=10, period_s=60.0)
PARK_ELSEWHERE: Final = ParkPolicy(max_restarts=3, period_s=300.0)
"""Of runners whose games are on other machines: where none has room, each attempt takes a while to say so."""
ROOT_PARK: Final = ParkPolicy(max_restarts=3, period_s=60.0, backoff_s=2.0, max_times=4)
"""Of what a run consists of, such as its learner: one that fails still after half a minute of waiting ends the run."""
NODES_BACK_S: Final = 600.0  # for one of a cluster's nodes to come back where all with games are gone
BEGINNING_S: Final = 10.0  # for runners that are all parked before any gave a segment: it is likely a mistake
GRACE_S: Final = 30.0  # for the learner to end the iteration it is in


def root_of(children: tuple[ChildSpec, ...]) -> SupervisorSpec:
    """The root of a run: those after a child that failed depend on it, and the learner's end is the run's."""
    return SupervisorSpec(
        children=children, strategy="rest_for_one", auto_shutdown="any_significant", park=ROOT_PARK,
        intensity=ROOT_PARK.max_restarts * len(children), period_s=ROOT_PARK.period_s,
    )  # fmt: skip


def patience(park: ParkPolicy, ray_address: str | None) -> Patience:
    """How long a run waits while all its runners are parked, which come back from there to try again."""
    nodes_s = NODES_BACK_S if ray_address else 0.0
    return Patience(max(BEGINNING_S, nodes_s), max(park.period_s, nodes_s))


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
