"""Where blocks of games live, as settings say it, and the cluster that some of them need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from selfplay.errors import ConfigError

if TYPE_CHECKING:
    from selfplay.runner.ray_cluster import Cluster


class HostSettings(Protocol):
    """The settings of a run that say it, of any family of games."""

    @property
    def host(self) -> str:
        """``--host``."""
        ...

    @property
    def ray_address(self) -> str | None:
        """``--ray-address``."""
        ...

    @property
    def workers(self) -> int:
        """``--workers``."""
        ...

    @property
    def runners(self) -> int:
        """``--runners``."""
        ...


def check_host(run: HostSettings, most: int, explicit: Mapping[str, object]) -> None:
    """Refuse settings of hosts that have no effect or contradict each other.

    Args:
        run: settings.
        most: blocks that its games can be dealt out to.
        explicit: what the user gave, by dotted name.

    Raises:
        ConfigError: one line that names the flag.
    """
    if run.host != "ray":
        for name, flag in (("run.ray_address", "--ray-address"), ("run.workers", "--workers")):
            if explicit.get(name):
                raise ConfigError(f"{flag} is about actors of Ray: add --host ray")
        return
    if run.workers > most:
        raise ConfigError(f"--workers {run.workers}: there are only {most} blocks of games to place")
    if run.workers and run.runners and run.workers != run.runners:
        raise ConfigError(
            f"--workers {run.workers}: the run has {run.runners} blocks of games (--runners), an actor each; "
            "that cannot change within a run"
        )


@contextmanager
def cluster_for(run: HostSettings, actors: int) -> Iterator[Cluster | None]:
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
