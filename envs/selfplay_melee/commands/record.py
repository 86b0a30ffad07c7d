"""Games of the mock as .slp files: data sets for imitation that need no download.

A game depends on its number alone (seed, players and rules). Existing .slp files are kept, so that an interrupted
recording is continued and a longer one extends a shorter one. With policies this holds as ``selfplay.runner.match``
says: sums of the network may differ in the last bit with the number of parallel games.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from selfplay.commands.record import named, player
from selfplay.runner.match import Contender, Rules
from selfplay_melee.choices import MOCK, check_scripted
from selfplay_melee.commands.policies import load_fighter
from selfplay_melee.conditions import as_fight
from selfplay_melee.imitation.recording import blocks, recorded
from selfplay_melee.replay import save_replay

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.league.schedule import Matchup

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
    return named(Contender(path, load_fighter(path)))


def opponent(name: str) -> Contender:
    """A scripted player or the policy of a folder, with its name in files."""
    return player(name, MOCK)


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
