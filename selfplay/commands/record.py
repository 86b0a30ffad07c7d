"""Recorded games in one file, a data set for imitation. A game depends on its number alone: seed, players and rules.

With policies this holds as ``selfplay.runner.match`` says: sums of the network may differ in the last bit with the
number of parallel games.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from selfplay.checkpoint.store import write_file
from selfplay.evaluation.players import contender, home_rules
from selfplay.games.registry import find_game
from selfplay.games.vector import SyncVectorGame
from selfplay.imitation.recorded_games import RecordedGame
from selfplay.league.schedule import pairings_of
from selfplay.runner.match import Contender, Rules, play_in

if TYPE_CHECKING:
    from pathlib import Path

    from selfplay.league.schedule import Matchup

WIDEST: Final = 32  # parallel games
HASH_DIGITS: Final = 8
_NAME_BYTES: Final = 30  # of a player's name in a file


def player(name: str, game: str) -> Contender:
    """A scripted player or the policy of a folder, see ``players.contender``, with its name in files."""
    return named(contender(name, game=game))


def named(player: Contender) -> Contender:
    """The same player, with a name that contains the weights' hash and fits into a file."""
    if player.policy is None:
        return player
    weights = str(player.policy.meta.weights_hash)[:HASH_DIGITS]
    return replace(player, id=f"{player.policy.meta.id[: _NAME_BYTES - 1 - HASH_DIGITS]}-{weights}")


def record(game: str, players: Sequence[Contender], games: int, seed: int, path: Path) -> Iterator[int]:
    """Play games from both seats, one player alone against itself, then write a file; yields those done. Blocks."""
    everybody = {player.id: player for player in players}
    rules = home_rules(players, game)
    matchups = pairings_of(list(everybody), [], games, (), seed)
    lines: list[str] = []
    for start in range(0, games, WIDEST):
        lines += _lines(matchups[start : start + WIDEST], everybody, rules)
        yield len(lines)
    write_file(path, "".join(lines).encode())


def _lines(matchups: Sequence[Matchup], players: Mapping[str, Contender], rules: Rules) -> Iterator[str]:
    """Play the games side by side; each as a line of the file."""
    kind = find_game(rules.game)
    make: Any = kind.single
    block = SyncVectorGame(lambda: make(False), len(matchups))
    first: dict[int, tuple[Any, ...]] = {}  # later episodes are played while others are in their first
    block.on_end = lambda b, *episode: first.setdefault(b, episode)
    play_in(block, matchups, players, rules)
    block.close()
    for b, matchup in enumerate(matchups):
        seed, actions, rewards = first[b]
        values = {"seed": seed, "actions": block.as_taken(actions), "rewards": rewards.tolist()}
        line = RecordedGame(game=rules.game, version=kind.encoder_version, players=matchup.players, **values)
        yield line.model_dump_json() + "\n"
