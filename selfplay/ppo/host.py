"""Games in real time, each of which runs in a process of its own: what the trainer asks of the game that plays them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir
    from selfplay.games.kind import GameKind
    from selfplay.policy.recurrent_state import Infer
    from selfplay.runner.arena import Arena
    from selfplay.runner.work_queue import Limits
    from selfplay.supervision import ParkPolicy

Settings = Any  # the configuration of a run, with the groups of the game


class RealTimeHost(Protocol):
    """Options and deadlines of games in real time. ``slot`` numbers the processes of a run."""

    def options(self, config: Settings, run: RunDir, slot: int) -> dict[str, object]:
        """Options of the game of a slot beside those of ``GameSettings.options``; JSON-able."""

    def arena(self, config: Settings, run: RunDir, notice: Callable[[str], object], infer: Infer = ...) -> Arena:
        """The arena of a run's rating games; ``notice`` receives its errors and notes."""

    def rating_games(self, config: Settings) -> int:
        """Rating games that can be played at once."""

    def rating_cost_s(self, config: Settings) -> float:
        """Estimated seconds per rating game before any was played."""

    def start_timeout_s(self, config: Settings) -> float:
        """Seconds until a process must be in its first game."""

    def opens_within_s(self, config: Settings) -> float:
        """Seconds after which a process that is not in its first game counts as hung; may be infinite."""

    def limits(self, config: Settings) -> Limits:
        """When a segment counts as hung."""

    def park_policy(self, config: Settings) -> ParkPolicy:
        """When a runner is parked."""


def host_of(game: GameKind) -> RealTimeHost | None:
    """What plays the games of a kind in real time; None for other games."""
    made = game.host
    return None if made is None else made()
