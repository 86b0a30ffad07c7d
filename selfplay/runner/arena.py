"""Rating games in emulators: some at once, each one game of one pairing after the other.

An emulator stays open for pairings with the same characters, frame skips and delays. One that fails is replaced, and
its pairing played again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from envs.errors import GameError
from selfplay.errors import RunnerError
from selfplay.policy.memory import Ask, directly
from selfplay.runner.match import game_options, play_on

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from selfplay.runner.match import Contender, Pairing, Rules, Stage

TRIES: Final = 3
"""How often a pairing is begun before it is given up."""
Options = dict[str, Any]


@dataclass(slots=True)
class _Task:
    """A pairing to play."""

    index: int
    pairing: Pairing
    options: Options  # of the game that it is played in
    failures: int = 0


class _Tasks:
    """What is left to play, and what came of the rest. Shared by threads."""

    def __init__(self, tasks: list[_Task]) -> None:
        self.stats: list[NDArray[np.void] | None] = [None] * len(tasks)
        self.error: Exception | None = None  # the first of a pairing that was given up
        self._left = tasks
        self._mutex = threading.Lock()

    def take(self, options: Options | None) -> _Task | None:
        """The next one: for those who have a game with these options one of that kind, as long as there is any."""
        with self._mutex:
            alike = (i for i, task in enumerate(self._left) if task.options == options)
            return self._left.pop(next(alike, 0)) if self._left else None

    def failed(self, task: _Task, error: Exception) -> bool:
        """Have it played again, by whoever comes first, or give it up; whether it is played again."""
        task.failures += 1
        with self._mutex:
            again = task.failures < TRIES
            if again:
                self._left.append(task)
            else:
                self.error = self.error or error
            return again

    def stop(self) -> None:
        """Nothing is left to play."""
        with self._mutex:
            self._left.clear()


class Arena:
    """Plays pairings in several games at once, each in a thread that opens it (``match.Play``).

    Args:
        open_game: Makes a game of one, from its place and the options that follow from a pairing.
        places: As many games at once; what ``open_game`` is given.
        limit_s: Seconds after which a game counts as hung and is killed.
        ask: How networks are asked.
        tell: Is told what went wrong, and what games tell of themselves; in any thread.
    """

    def __init__(
        self,
        open_game: Callable[[int, Options], Stage],
        places: Sequence[int],
        limit_s: float,
        ask: Ask = directly,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._open = open_game
        self._places = places
        self._limit_s = limit_s
        self._ask = ask
        self._tell = tell
        self._games: dict[int, Stage] = {}  # open ones, by place
        self._options: dict[int, Options] = {}  # that they were opened with

    def play(
        self,
        pairings: Sequence[Pairing],
        contenders: Mapping[str, Contender],
        rules: Rules,
        stop: Callable[[], bool] = lambda: False,
    ) -> list[NDArray[np.void] | None]:
        """Play every game to its end; the counts of both seats [2] of each, None of one that was given up. Blocks.

        Raises:
            RunnerError, GameError: ``stop`` said so, or no game at all could be played.
        """
        tasks = _Tasks(
            [
                _Task(i, pairing, game_options([pairing], contenders, rules) | {"num_games": 1})
                for i, pairing in enumerate(pairings)
            ]
        )

        def serve(place: int) -> None:
            try:
                while (task := tasks.take(self._options.get(place))) is not None:
                    try:
                        tasks.stats[task.index] = self._play(place, task, contenders, rules, stop)
                    except (RunnerError, GameError) as error:
                        self._close(place)
                        if stop():
                            raise
                        again = tasks.failed(task, error)
                        who = " against ".join(task.pairing.players)
                        self._tell(f"rating game {who}: {error}; it is {'played again' if again else 'given up'}")
            except BaseException:
                tasks.stop()
                raise
            finally:
                self._close(place)

        with ThreadPoolExecutor(len(self._places), "rating") as pool:
            for done in [pool.submit(serve, place) for place in self._places[: len(pairings)]]:
                done.result()
        if tasks.error is not None and all(row is None for row in tasks.stats):
            raise tasks.error
        return tasks.stats

    def kill(self) -> None:
        """Kill the games that are open; calls in progress fail at once. For other threads to call."""
        for game in list(self._games.values()):
            game.kill()

    def _play(
        self, place: int, task: _Task, contenders: Mapping[str, Contender], rules: Rules, stop: Callable[[], bool]
    ) -> NDArray[np.void]:
        if self._options.get(place) != task.options:
            self._close(place)
            self._games[place] = self._open(place, task.options)
            self._options[place] = task.options
        game = self._games[place]
        with _killed_after(self._limit_s, game):
            stats = play_on(game, task.pairing, contenders, rules, stop, self._ask)
        for note in game.notes:
            self._tell(f"rating games: {note}")
        game.notes.clear()
        return stats

    def _close(self, place: int) -> None:
        game = self._games.pop(place, None)
        self._options.pop(place, None)
        if game is not None:
            game.close()


@contextmanager
def _killed_after(seconds: float, game: Stage) -> Iterator[None]:
    timer = threading.Timer(seconds, game.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
