"""Restart limits of the supervisors of a training run."""

from __future__ import annotations

from typing import Final

from selfplay.runner.work_queue import WaitLimits
from selfplay.supervision import ChildSpec, ParkPolicy, SupervisorSpec

PARK: Final = ParkPolicy(max_restarts=10, period_s=60.0)
PARK_ELSEWHERE: Final = ParkPolicy(max_restarts=3, period_s=300.0)
"""Runners whose games are on other machines: an attempt takes a while to fail if none has room."""
ROOT_PARK: Final = ParkPolicy(max_restarts=3, period_s=60.0, backoff_s=2.0, max_times=4)
"""Children of the root, such as the learner: one that still fails after half a minute ends the run."""
NODES_BACK_S: Final = 600.0  # for one of a cluster's nodes to come back where all with games are gone
BEGINNING_S: Final = 10.0  # for runners that are all parked before any gave a segment: it is likely a mistake
GRACE_S: Final = 30.0  # for the learner to end the iteration it is in


def root_of(children: tuple[ChildSpec, ...]) -> SupervisorSpec:
    """The root of a run: those after a child that failed depend on it, and the learner's end is the run's."""
    return SupervisorSpec(
        children=children, strategy="rest_for_one", auto_shutdown="any_significant", park=ROOT_PARK,
        intensity=ROOT_PARK.max_restarts * len(children), period_s=ROOT_PARK.period_s,
    )  # fmt: skip


def patience(park: ParkPolicy, ray_address: str | None) -> WaitLimits:
    """Time limits of a run while all its runners are parked; parked runners are retried."""
    nodes_s = NODES_BACK_S if ray_address else 0.0
    return WaitLimits(max(BEGINNING_S, nodes_s), max(park.period_s, nodes_s))
