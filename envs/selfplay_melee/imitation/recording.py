"""Records games of the mock in memory: the frames of each as a ``Replay``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from selfplay.runner.match import Contender, Rules, play
from selfplay_melee.conditions import as_fight
from selfplay_melee.limits import ENDED_BY
from selfplay_melee.physics.actions.death import TIMER
from selfplay_melee.replay import Replay, end_of, replay_of, seat_of
from selfplay_melee.state import CONTROLLER, GAME, NUM_SEATS, PLAYER, GameState
from selfplay_melee.tables import CHARACTERS, STAGES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from selfplay.league.schedule import Matchup
    from selfplay_melee.mock import MockMelee

_Game = TypeVar("_Game")

WIDEST: Final = 32  # parallel games
MOST_BYTES: Final = 64 << 20  # of frames that wait for the end of their block
FRAME_BYTES: Final = GAME.itemsize + NUM_SEATS * (PLAYER.itemsize + CONTROLLER.itemsize)


def blocks(games: Sequence[_Game], rules: Rules) -> Iterator[Sequence[_Game]]:
    """Groups of games to play in parallel, whose frames fit into ``MOST_BYTES``."""
    size = min(max(MOST_BYTES // (_longest(rules) * FRAME_BYTES), 1), WIDEST)
    for i in range(0, len(games), size):
        yield games[i : i + size]


def _longest(rules: Rules) -> int:
    return min(max(as_fight(rules.conditions).max_episode_frames, 1), TIMER)


def recorded(
    matchups: Sequence[Matchup],
    players: Mapping[str, Contender],
    rules: Rules,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Replay]:
    """Play one block, then yield its games one by one. Blocks.

    The last frame of a game is missing, since the block replaces it by the first of the next episode. ``end`` has the
    result.

    Raises:
        RunnerError: ``stop`` said so; it is called before every frame.
    """
    keeper = _Keeper(len(matchups), _longest(rules))
    for i, result in enumerate(play(matchups, players, rules, stop, keeper.watch)):
        yield _replay(result.matchup, keeper.state(i), result.stats, rules)


class _Keeper:
    """Records the first episode of every game of a block."""

    def __init__(self, games: int, longest: int) -> None:
        self._game = np.zeros((games, longest), GAME)
        self._players = np.zeros((games, longest, NUM_SEATS), PLAYER)
        self._controllers = np.zeros((games, longest, NUM_SEATS), CONTROLLER)
        self._running = np.ones(games, bool)
        self._lengths = np.zeros(games, np.intp)
        self._frame = 0

    def watch(self, block: MockMelee) -> None:
        """Record the current frame. A game with another frame number has started its next episode."""
        state, t = block.state, self._frame
        self._running &= state.game["frame"] == t
        self._lengths += self._running
        self._game[:, t] = state.game
        self._players[:, t] = state.players
        self._controllers[:, t] = state.controllers
        self._frame += 1

    def state(self, game: int) -> GameState:
        """All frames of one game: game [T], players [T, 2], controllers [T, 2]."""
        rows = slice(self._lengths[game])
        parts = (self._game[game, rows], self._players[game, rows], self._controllers[game, rows])
        return GameState(*(part.view(np.recarray) for part in parts))


def _replay(matchup: Matchup, state: GameState, stats: NDArray[np.void], rules: Rules) -> Replay:
    first, second = (
        seat_of(port, CHARACTERS[character], name=name)
        for port, (name, character) in enumerate(zip(matchup.players, matchup.roles, strict=True))
    )
    end = end_of(stats["stocks"], stats["percent"], timer=ENDED_BY[stats["ended"][0]] == "timer")
    return replay_of(state, (first, second), STAGES[as_fight(rules.conditions).stage], end=end)
