"""Games that are no fights as a file of ``selfplay.replays.recorded_games``, a data set for imitation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from envs.files import replacing
from envs.registry import find_game
from envs.vector import SyncVectorGame
from selfplay.commands.players import home_rules
from selfplay.commands.record import opponent
from selfplay.errors import DiskError, boundary
from selfplay.replays.recorded_games import RecordedGame
from selfplay.runner.match import play_in
from selfplay.train.imitation.recording import pairings_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from envs.api import Actions
    from selfplay.league.schedule import Matchup
    from selfplay.runner.match import Contender, Rules

BLOCK: Final = 32  # games side by side


def record_games(
    game: str,
    names: Sequence[str],
    games: int,
    seed: int,
    path: Path,
    progress: Callable[[int], object] = lambda done: None,
) -> None:
    """Play and write games between players, who meet each other from both seats; one alone plays itself. Blocks.

    Args:
        game: Name of a game that is no fight and repeats itself.
        names: Players, as of ``contender``.
        games: Number of games.
        seed: Of all games.
        path: The file, written when all games are played.
        progress: Called with the number of games played.

    Raises:
        ConfigError: as of ``contender``.
        GameError: the game failed.
        DiskError: the file cannot be written.
    """
    players = {player.id: player for player in (opponent(name, game) for name in names)}
    characters, rules = home_rules(list(players.values()), game)
    pairings = pairings_of(list(players), [], games, characters, seed)
    with (
        boundary(DiskError, f"cannot write {path}"),
        replacing(path, path.with_name(f".{path.name}.tmp")) as temporary,
        temporary.open("w", encoding="utf-8") as file,
    ):
        for start in range(0, games, BLOCK):
            part = pairings[start : start + BLOCK]
            file.writelines(f"{record.model_dump_json()}\n" for record in _recorded(part, players, rules))
            progress(start + len(part))


def _recorded(matchups: Sequence[Matchup], players: dict[str, Contender], rules: Rules) -> list[RecordedGame]:
    entry = find_game(rules.game)
    make = entry.single
    assert make is not None
    block = SyncVectorGame(lambda: make(False), len(matchups))
    records: dict[int, RecordedGame] = {}

    def keep(b: int, seed: int, actions: Actions, rewards: NDArray[np.float64]) -> None:
        if b in records:  # a later episode, played while others are in their first
            return
        chosen: Any = block.as_taken(actions)
        who, sums, version = matchups[b].players, (float(rewards[0]), float(rewards[1])), entry.encoder_version
        records[b] = RecordedGame(
            game=rules.game, version=version, seed=seed, players=who, actions=chosen, rewards=sums
        )

    block.on_end = keep
    play_in(block, matchups, players, rules)
    block.close()
    return [records[b] for b in range(len(matchups))]
