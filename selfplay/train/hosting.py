"""The cluster that blocks of games of some runs live on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfplay.config.base import SelfPlaySettings
    from selfplay.runner.ray_cluster import Cluster


@contextmanager
def cluster_for(run: SelfPlaySettings, actors: int) -> Iterator[Cluster | None]:
    """The cluster of a run that wants one, with room for so many actors; None for others. Blocks.

    Raises:
        ConfigError: see ``ray_cluster.connected``.
    """
    if run.host != "ray":
        yield None
        return
    from selfplay.runner.ray_cluster import connected

    with connected(run.ray_address, actors) as cluster:
        yield cluster
