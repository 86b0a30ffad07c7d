"""Faults on purpose in games of words: an order of games in which one strikes (see ``chaos``)."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from envs.dialogue.contract import Verdict
from selfplay.errors import RunnerError
from selfplay.runner.chaos import FORCED, ON_PURPOSE, SLOW_S

if TYPE_CHECKING:
    from envs.dialogue.contract import DialogueGame
    from selfplay.runner.chaos import Fault
    from selfplay.runner.dialogue import Fixture

ROUNDS: Final = 2  # of the first ones, one is struck: no game is over before
_TICK_S: Final = 0.05


def broken_games(
    fixtures: Sequence[Fixture], fault: Fault, cancelled: Callable[[], bool]
) -> tuple[list[Fixture], Callable[[], bool]]:
    """Games to play, and what to ask before each round, so that the fault strikes in them."""
    games = list(fixtures)
    if fault.kind == "nan":
        struck = int(fault.at * len(games))
        game = cast("DialogueGame", _Poisoned(games[struck].game, fault))
        games[struck] = replace(games[struck], game=game)
        return games, cancelled
    left = fault.step(ROUNDS)

    def before_round() -> bool:
        nonlocal left
        left -= 1
        if left == -1:
            fault.struck()
            if fault.kind in FORCED and fault.pid is not None:
                os.kill(fault.pid, signal.SIGSTOP if fault.kind == "hang" else signal.SIGKILL)
            if fault.kind == "crash":
                raise RunnerError(f"the games crashed {ON_PURPOSE}")
            end = time.monotonic() + SLOW_S
            while time.monotonic() < end and not cancelled():
                time.sleep(_TICK_S)
        return cancelled()

    return games, before_round


class _Poisoned:
    """A game whose verdict is no number; everything else is the game's."""

    def __init__(self, game: DialogueGame, fault: Fault) -> None:
        self._game = game
        self._fault = fault
        self._struck = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._game, name)

    @property
    def verdict(self) -> Verdict | None:
        """See ``DialogueGame``."""
        found = self._game.verdict
        if found is None:
            return None
        if not self._struck:
            self._struck = True
            self._fault.struck()
        return Verdict((math.nan, found.rewards[1]), found.reason)
