"""Games of the mock as .slp files: a data set for imitation that needs no download.

A game follows from its number alone (its seed, who plays, and how): files that are already there are kept, so that a
recording that was interrupted goes on, and a longer one adds to a shorter one. With policies that holds as far as
``selfplay.runner.match`` says: the network's sums may differ in the last bit with the games beside.
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
from envs.melee.physics.death import TIMER
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
    from envs.melee.replay import End

_Game = TypeVar("_Game")

WIDEST: Final = 32  # games side by side
MOST_BYTES: Final = 64 << 20  # of frames that wait for the end of their block
FRAME_BYTES: Final = GAME.itemsize + NUM_SEATS * (PLAYER.itemsize + CONTROLLER.itemsize)
HASH_DIGITS: Final = 8
_NAME_BYTES: Final = 30  # of a player's name in a file
_STARTED: Final = datetime(2001, 11, 21, tzinfo=UTC)  # in every file, so that a game has the same bytes whenever made


@dataclass(frozen=True, slots=True)
class Order:
    """A game, and the file that is to hold it."""

    matchup: Matchup
    path: Path


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a recording is: files of the whole order that are there, and frames written by this call."""

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
    """The policy at a path, see ``load_fighter``, under the name that files have for it."""
    return _named(Contender(path, load_fighter(path)))


def opponent(name: str) -> Contender:
    """A scripted player or the policy of a folder, see ``players.contender``, under the name that files have for it."""
    return _named(contender(name))


def _named(player: Contender) -> Contender:
    """Generations of two runs have the same name: so the weights are part of it, and it fits into a file."""
    if player.policy is None:
        return player
    weights = str(player.policy.meta.weights_hash)[:HASH_DIGITS]
    return replace(player, id=f"{player.policy.meta.id[: _NAME_BYTES - 1 - HASH_DIGITS]}-{weights}")


def pairings_of(
    players: Sequence[str], opponents: Sequence[str], games: int, characters: tuple[str, str], seed: int
) -> list[Matchup]:
    """Who plays whom: every pair in turn, then the same pairs with seats swapped, and again.

    Args:
        players: Ids of those who have the first character. Without opponents they meet each other, each pair both
            ways round; one that is alone meets itself.
        opponents: Ids of those who have the second character.
        games: How many.
        characters: Of players and of opponents.
        seed: Of all; that of a game follows from it and the game's number.

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
    """The files of these games: their names say all that a game follows from, so that no other game is taken for it."""
    orders = []
    for number, matchup in enumerate(matchups):
        first, second = (f"{who}.{body}" for who, body in zip(matchup.players, matchup.characters, strict=True))
        name = f"{first}-vs-{second}-{rules.stage}-{rules.max_episode_frames}-seed{seed}-{number:05d}.slp"
        orders.append(Order(matchup, folder / name))
    return orders


def record(orders: Sequence[Order], players: Mapping[str, Contender], rules: Rules) -> Iterator[Progress]:
    """Play and write those games whose files are not there yet; a ``Progress`` after every block. Blocks.

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
    """Games to play side by side, so many that their frames fit into ``MOST_BYTES``."""
    size = min(max(MOST_BYTES // (_longest(rules) * FRAME_BYTES), 1), WIDEST)
    for i in range(0, len(games), size):
        yield games[i : i + size]


def _longest(rules: Rules) -> int:
    """Frames that a game can have."""
    return min(max(rules.max_episode_frames, 1), TIMER)


def recorded(matchups: Sequence[Matchup], players: Mapping[str, Contender], rules: Rules) -> Iterator[Replay]:
    """Play one block, then give its games one by one. Blocks.

    Of a game there is every frame from the start on but the last, which the block leaves at once for the next episode.
    ``end`` says how the game ended nevertheless, and so who lost the last stock.
    """
    keeper = _Keeper(len(matchups), _longest(rules))
    for i, result in enumerate(play(matchups, players, rules, watch=keeper.watch)):
        yield _replay(result.matchup, keeper.state(i), result.stats, rules)


class _Keeper:
    """Keeps the first episode of every game of a block; a frame of all games costs three copies."""

    def __init__(self, games: int, longest: int) -> None:
        self._game = np.zeros((games, longest), GAME)
        self._players = np.zeros((games, longest, NUM_SEATS), PLAYER)
        self._controllers = np.zeros((games, longest, NUM_SEATS), CONTROLLER)
        self._running = np.ones(games, bool)
        self._lengths = np.zeros(games, np.intp)
        self._frame = 0

    def watch(self, block: MockMelee) -> None:
        """Keep the frame that is shown. A game whose frame is not the next one has started its next episode."""
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
    return replay_of(state, (first, second), STAGES[rules.stage], end=_end(stats))


def _end(stats: NDArray[np.void]) -> End:
    return end_of(stats["stocks"], stats["percent"], timer=ENDED_BY[stats["ended"][0]] == "timer")
