"""Plays rating games in emulators: several at once, each one matchup after the other.

An emulator stays open for matchups with the same characters, frame skips and delays. One that fails is replaced, and
its matchup played again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from selfplay.errors import RunnerError
from selfplay.games.errors import GameError
from selfplay.policy.recurrent_state import Infer, infer_directly
from selfplay.runner.match import game_options, play_in
from selfplay.threads import ThreadPool

if TYPE_CHECKING:
    from selfplay.games.api import ScriptedGame
    from selfplay.league.schedule import Matchup
    from selfplay.runner.match import Contender, MatchResult, Rules

TRIES: Final = 3  # attempts at a matchup before it is given up
Options = dict[str, Any]


class _Tasks:
    """The matchups that are left to play, by index, and the results of the others. Shared by threads."""

    def __init__(self, options: Sequence[Options]) -> None:
        self.options = options  # of the game that each matchup is played in
        self.results: list[MatchResult | None] = [None] * len(options)
        self.error: Exception | None = None  # the first of a matchup that was given up
        self._failures = [0] * len(options)
        self._left = list(range(len(options)))
        self._mutex = threading.Lock()

    def take(self, options: Options | None) -> int | None:
        """The next matchup; one that is played in a game with these options, as long as there is any."""
        with self._mutex:
            alike = (i for i, task in enumerate(self._left) if self.options[task] == options)
            return self._left.pop(next(alike, 0)) if self._left else None

    def failed(self, task: int, error: Exception) -> bool:
        """Have a matchup played again, or give it up; whether it is played again."""
        with self._mutex:
            self._failures[task] += 1
            again = self._failures[task] < TRIES
            if again:
                self._left.append(task)
            else:
                self.error = self.error or error
            return again

    def stop(self) -> None:
        with self._mutex:
            self._left.clear()


@dataclass(slots=True, eq=False)
class Arena:
    """Plays matchups in several games at once, each in a thread that opens it (``match.Play``)."""

    open_game: Callable[[int, Options], ScriptedGame]
    """Makes a game of one, from its place and the options that follow from a matchup."""
    places: Sequence[int]  # as many games at once
    limit_s: float  # seconds after which a game counts as hung and is killed
    infer: Infer = infer_directly
    notice: Callable[[str], object] = lambda _: None
    """Called with failures and with notes of games; from any thread."""
    _games: dict[int, ScriptedGame] = field(default_factory=dict, init=False)  # open ones, by place
    _options: dict[int, Options] = field(default_factory=dict, init=False)  # that they were opened with

    def play(
        self,
        matchups: Sequence[Matchup],
        contenders: Mapping[str, Contender],
        rules: Rules,
        stop: Callable[[], bool] = lambda: False,
    ) -> list[MatchResult | None]:
        """Play every matchup to its end; None for one that was given up. Blocks, and raises where ``stop`` said so."""
        tasks = _Tasks([game_options([matchup], contenders, rules) | {"num_games": 1} for matchup in matchups])

        def serve(place: int) -> None:
            try:
                while (task := tasks.take(self._options.get(place))) is not None:
                    try:
                        game = self._game(place, tasks.options[task])
                        tasks.results[task] = self._play(game, matchups[task], contenders, rules, stop)
                    except (RunnerError, GameError) as error:
                        self._close(place)
                        if stop():
                            raise
                        again = tasks.failed(task, error)
                        names = " against ".join(matchups[task].players)
                        self.notice(f"rating game {names}: {error}; it is {'played again' if again else 'given up'}")
            except BaseException:
                tasks.stop()
                raise
            finally:
                self._close(place)

        with ThreadPool(len(self.places), "rating") as pool:
            for done in [pool.submit(serve, place) for place in self.places[: len(matchups)]]:
                done.result()
        if tasks.error is not None and all(result is None for result in tasks.results):
            raise tasks.error
        return tasks.results

    def kill(self) -> None:
        """Kill the games that are open; calls in progress fail at once. For other threads to call."""
        for game in list(self._games.values()):
            game.kill()

    def _game(self, place: int, options: Options) -> ScriptedGame:
        """The game at a place, made with these options."""
        if self._options.get(place) != options:
            self._close(place)
            self._games[place] = self.open_game(place, options)
            self._options[place] = options
        return self._games[place]

    def _play(
        self,
        game: ScriptedGame,
        matchup: Matchup,
        contenders: Mapping[str, Contender],
        rules: Rules,
        stop: Callable[[], bool],
    ) -> MatchResult:
        with _killed_after(self.limit_s, game):
            result = play_in(game, [matchup], contenders, rules, stop, self.infer)[0]
        for note in game.notes:
            self.notice(f"rating games: {note}")
        game.notes.clear()
        return result

    def _close(self, place: int) -> None:
        game = self._games.pop(place, None)
        self._options.pop(place, None)
        if game is not None:
            game.close()


@contextmanager
def _killed_after(seconds: float, game: ScriptedGame) -> Iterator[None]:
    timer = threading.Timer(seconds, game.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
