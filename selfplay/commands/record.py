"""Games of the mock as .slp files: a data set for imitation that needs no download.

A game depends on its number alone (seed, players and rules). Existing files are kept, so that an interrupted recording
is continued and a longer one extends a shorter one. With policies this holds as ``selfplay.runner.match`` says: sums of
the network may differ in the last bit with the number of parallel games.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from envs.errors import UnknownNameError
from envs.melee import bots
from envs.melee.mock import ENDED_BY
from envs.melee.physics.actions.death import TIMER
from envs.melee.replay import Replay, end_of, replay_of, save_replay, seat_of
from envs.melee.state import CONTROLLER, GAME, NUM_SEATS, PLAYER, GameState
from envs.melee.tables import CHARACTERS, STAGES
from selfplay.commands.players import contender
from selfplay.errors import ConfigError
from selfplay.league.schedule import Matchup
from selfplay.policy.policy import load_fighter
from selfplay.runner.match import Contender, Rules, play
from selfplay.seeding import derive

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from envs.melee.mock import MockMelee

_Game = TypeVar("_Game")

WIDEST: Final = 32  # parallel games
MOST_BYTES: Final = 64 << 20  # of frames that wait for the end of their block
FRAME_BYTES: Final = GAME.itemsize + NUM_SEATS * (PLAYER.itemsize + CONTROLLER.itemsize)
HASH_DIGITS: Final = 8
_NAME_BYTES: Final = 30  # of a player's name in a file
_STARTED: Final = datetime(2001, 11, 21, tzinfo=UTC)  # in every file, so that a game has the same bytes whenever made


@dataclass(frozen=True, slots=True)
class Order:
    """A game and its file."""

    matchup: Matchup
    path: Path


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a recording: number of existing files, and frames written by this call."""

    files: int
    frames: int


def bot(name: str) -> Contender:
    """The scripted player of this name.

    Raises:
        ConfigError: there is none; lists all.
    """
    if name not in bots.NAMES:
        raise ConfigError(f"--bot {name}: {UnknownNameError('scripted player', name, bots.NAMES)}")
    return Contender(name)


def policy(path: str) -> Contender:
    """The policy at a path, see ``load_fighter``, with its name in files."""
    return _named(Contender(path, load_fighter(path)))


def opponent(name: str) -> Contender:
    """A scripted player or the policy of a folder, see ``players.contender``, with its name in files."""
    return _named(contender(name))


def _named(player: Contender) -> Contender:
    """The same player, with a name that contains the weights' hash and fits into a file."""
    if player.policy is None:
        return player
    weights = str(player.policy.meta.weights_hash)[:HASH_DIGITS]
    return replace(player, id=f"{player.policy.meta.id[: _NAME_BYTES - 1 - HASH_DIGITS]}-{weights}")


def pairings_of(
    players: Sequence[str], opponents: Sequence[str], games: int, characters: tuple[str, str], seed: int
) -> list[Matchup]:
    """Pairings: all pairs in turn, then the same pairs with seats swapped, and again.

    Args:
        players: Ids of the players with the first character. Without opponents they play each other in both seats; a
            single player plays itself.
        opponents: Ids of the players with the second character.
        games: Number of games.
        characters: Of players and of opponents.
        seed: Of all games; a game's own seed depends on it and the number of the game.

    Raises:
        ConfigError: no player, or fewer than one game.
    """
    if not players:
        raise ConfigError(f"at least one player is needed, --bot or --policy (scripted: {', '.join(bots.NAMES)})")
    if games < 1:
        raise ConfigError(f"--games {games}: at least 1 is needed")
    players, opponents = list(dict.fromkeys(players)), list(dict.fromkeys(opponents))
    if opponents:
        meetings = list(itertools.product(players, opponents))
    else:
        meetings = list(itertools.permutations(players, 2)) or [(players[0], players[0])]
    matchups = []
    for number in range(games):
        (a, b), (mine, other) = meetings[number % len(meetings)], characters
        if number // len(meetings) % 2:
            a, b, mine, other = b, a, other, mine
        matchups.append(Matchup((a, b), (mine, other), derive(seed, "record", number)))
    return matchups


def orders_of(matchups: Sequence[Matchup], rules: Rules, seed: int, folder: Path) -> list[Order]:
    """The files of these games; a file name contains everything that its game depends on."""
    orders = []
    for number, matchup in enumerate(matchups):
        first, second = (f"{name}.{body}" for name, body in zip(matchup.players, matchup.characters, strict=True))
        name = f"{first}-vs-{second}-{rules.stage}-{rules.max_episode_frames}-seed{seed}-{number:05d}.slp"
        orders.append(Order(matchup, folder / name))
    return orders


def record(orders: Sequence[Order], players: Mapping[str, Contender], rules: Rules) -> Iterator[Progress]:
    """Play and write the games without a file; yields a ``Progress`` after every block. Blocks.

    Raises:
        GameError: a character or a stage is unknown, or a file cannot be written.
    """
    missing = [order for order in orders if not order.path.exists()]
    done, frames = len(orders) - len(missing), 0
    for block in blocks(missing, rules):
        for order, replay in zip(block, recorded([o.matchup for o in block], players, rules), strict=True):
            save_replay(order.path, replay, _STARTED)
            frames += len(replay.state.game)
        done += len(block)
        yield Progress(done, frames)


def blocks(games: Sequence[_Game], rules: Rules) -> Iterator[Sequence[_Game]]:
    """Groups of games to play in parallel, whose frames fit into ``MOST_BYTES``."""
    size = min(max(MOST_BYTES // (_longest(rules) * FRAME_BYTES), 1), WIDEST)
    for i in range(0, len(games), size):
        yield games[i : i + size]


def _longest(rules: Rules) -> int:
    return min(max(rules.max_episode_frames, 1), TIMER)


def recorded(matchups: Sequence[Matchup], players: Mapping[str, Contender], rules: Rules) -> Iterator[Replay]:
    """Play one block, then yield its games one by one. Blocks.

    The last frame of a game is missing, since the block replaces it by the first of the next episode. ``end`` has the
    result.
    """
    keeper = _Keeper(len(matchups), _longest(rules))
    for i, result in enumerate(play(matchups, players, rules, watch=keeper.watch)):
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
        for port, (name, character) in enumerate(zip(matchup.players, matchup.characters, strict=True))
    )
    end = end_of(stats["stocks"], stats["percent"], timer=ENDED_BY[stats["ended"][0]] == "timer")
    return replay_of(state, (first, second), STAGES[rules.stage], end=end)
