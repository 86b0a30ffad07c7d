"""Games of the mock as .slp files, and other games as one file: data sets for imitation that need no download.

A game depends on its number alone (seed, players and rules). Existing .slp files are kept, so that an interrupted
recording is continued and a longer one extends a shorter one. With policies this holds as ``selfplay.runner.match``
says: sums of the network may differ in the last bit with the number of parallel games.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint.store import write_file
from selfplay.evaluation.players import contender, home_rules
from selfplay.games.registry import find_game
from selfplay.games.vector import SyncVectorGame
from selfplay.runner.match import Contender, Rules, play_in
from selfplay_melee.choices import MOCK, check_scripted
from selfplay_melee.commands.policies import load_fighter
from selfplay_melee.conditions import as_fight
from selfplay_melee.imitation.recording import WIDEST, blocks, pairings_of, recorded
from selfplay_melee.replay import save_replay
from selfplay_melee.replays.recorded_games import RecordedGame

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.league.schedule import Matchup

HASH_DIGITS: Final = 8
_NAME_BYTES: Final = 30  # of a player's name in a file
_STARTED: Final = datetime(2001, 11, 21, tzinfo=UTC)  # in every file, so that a game has the same bytes whenever made


@dataclass(frozen=True, slots=True)
class Order:
    """A game and its file."""

    matchup: Matchup
    path: Path


def bot(name: str) -> Contender:
    """The scripted player of this name; ConfigError as of ``check_scripted``."""
    check_scripted(name)
    return Contender(name)


def policy(path: str) -> Contender:
    """The policy at a path, see ``load_fighter``, with its name in files."""
    return _named(Contender(path, load_fighter(path)))


def opponent(name: str, game: str = MOCK) -> Contender:
    """A scripted player or the policy of a folder, see ``players.contender``, with its name in files."""
    return _named(contender(name, game=game))


def _named(player: Contender) -> Contender:
    """The same player, with a name that contains the weights' hash and fits into a file."""
    if player.policy is None:
        return player
    weights = str(player.policy.meta.weights_hash)[:HASH_DIGITS]
    return replace(player, id=f"{player.policy.meta.id[: _NAME_BYTES - 1 - HASH_DIGITS]}-{weights}")


def orders_of(matchups: Sequence[Matchup], rules: Rules, seed: int, folder: Path) -> list[Order]:
    """The files of these games; a file name contains everything that its game depends on."""
    orders, conditions = [], as_fight(rules.conditions)
    for number, matchup in enumerate(matchups):
        first, second = (f"{name}.{body}" for name, body in zip(matchup.players, matchup.roles, strict=True))
        name = f"{first}-vs-{second}-{conditions.stage}-{conditions.max_episode_frames}-seed{seed}-{number:05d}.slp"
        orders.append(Order(matchup, folder / name))
    return orders


def record(orders: Sequence[Order], players: Mapping[str, Contender], rules: Rules) -> Iterator[tuple[int, int]]:
    """Play and write the games without a file; after every block yields how many have one, and frames written. Blocks.

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
        yield done, frames


def record_games(game: str, players: Sequence[Contender], games: int, seed: int, path: Path) -> Iterator[int]:
    """Play games that are no fights, then write them to one file; yields the number of games done. Blocks.

    The players meet each other from both seats; one alone plays itself.

    Raises:
        ConfigError: no game is asked for.
        GameError: the game failed.
        CheckpointError: the file cannot be written.
    """
    named = {player.id: player for player in players}
    rules = home_rules(players, game)
    matchups = pairings_of(list(named), [], games, (), seed)
    lines: list[str] = []
    for start in range(0, games, WIDEST):
        lines += _lines(matchups[start : start + WIDEST], named, rules)
        yield len(lines)
    write_file(path, "".join(lines).encode())


def _lines(matchups: Sequence[Matchup], players: Mapping[str, Contender], rules: Rules) -> Iterator[str]:
    """Play the games side by side; each as a line of the file."""
    entry = find_game(rules.game)
    make: Any = entry.single
    block = SyncVectorGame(lambda: make(False), len(matchups))
    first: dict[int, tuple[Any, ...]] = {}  # later episodes are played while others are in their first
    block.on_end = lambda b, *episode: first.setdefault(b, episode)
    play_in(block, matchups, players, rules)
    block.close()
    for b, matchup in enumerate(matchups):
        seed, actions, rewards = first[b]
        values = {"seed": seed, "actions": block.as_taken(actions), "rewards": rewards.tolist()}
        record = RecordedGame(game=rules.game, version=entry.encoder_version, players=matchup.players, **values)
        yield record.model_dump_json() + "\n"
