"""A limit for the time of a check that has several parts, and lines that say how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from selfplay.games.api import ScriptedGame

SECONDS: Final = 60.0  # in which a game is checked
EVERY: Final = 5.0  # seconds between two lines


class TimeIsUp(Exception):
    """The time of a part is over."""


class TimeLimit:
    """Seconds from now on, for all parts together.

    ``notice`` is called with the name of each part as it begins, and with the progress of a long one; ``now`` is a
    clock.
    """

    def __init__(
        self, seconds: float, notice: Callable[[str], object], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._now, self._notice = now, notice
        self._end = self._part_end = now() + seconds
        self._part, self._told, self._done = "", now(), 0

    @contextmanager
    def part(self, name: str, share: float) -> Iterator[None]:
        """A part that may take a share of the time that is left."""
        now = self._now()
        self._part, self._told, self._done = name, now, 0
        self._part_end = now + share * max(0.0, self._end - now)
        self._notice(name)
        yield

    def left(self) -> float:
        """Seconds that the part has left."""
        return max(0.0, self._part_end - self._now())

    def step(self, about: int = 0) -> bool:
        """Count a step, of about so many if that is known; False when the time of the part is over."""
        now = self._now()
        self._done += 1
        if now - self._told >= EVERY:
            self._told = now
            of = f" of about {about:,}" if about >= self._done else ""
            self._notice(f"{self._part}: {self._done:,}{of} steps")
        return now < self._part_end

    def watched(self, game: ScriptedGame, about: int) -> ScriptedGame:
        """The game, whose steps are counted and raise ``TimeIsUp``."""
        play = game.step

        def step(*given: Any) -> Any:  # noqa: ANN401
            if not self.step(about):
                raise TimeIsUp
            return play(*given)

        setattr(game, "step", step)  # noqa: B010 its type says that it is a method
        return game
