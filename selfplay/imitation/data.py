"""The games for training and validation, and their batches."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from selfplay.errors import ConfigError
from selfplay.games.registry import find_game
from selfplay.learner.imitation import Lesson
from selfplay.learner.imitation_metrics import ActionCounts
from selfplay_melee.replays.batches import frames, windows
from selfplay_melee.replays.games import split
from selfplay_melee.replays.library import Library
from selfplay_melee.replays.recorded_games import NO_CHARACTER, RecordedGames
from selfplay_melee.tables import CHARACTERS

if TYPE_CHECKING:
    from selfplay.config.imitation import DataConfig, ImitationConfig
    from selfplay.policy.heads import Heads
    from selfplay_melee.examples import Examples
    from selfplay_melee.replays.batches import Loader, WindowBatch
    from selfplay_melee.replays.games import Game

CACHE: Final = ".replay_cache"  # hidden from the search for runs


def open_library(data: DataConfig, parent: Path, progress: Callable[[int, int], None]) -> Library:
    """Scan the replays of the settings; ``parent`` holds the cache by default.

    Raises:
        ConfigError: a setting cannot be used, or there is no game to learn from.
    """
    path = Path(data.replays or "")
    if not find_game(data.game).fighter:
        library: Library = RecordedGames(path, data.game, data.player, data.max_files)
    else:
        cache = None if data.no_cache else Path(data.cache) if data.cache else parent / CACHE
        library = Library(
            path, data.frame_skip, data.delay, cache,
            characters=data.character, player=data.player, max_files=data.max_files,
            cache_bytes=int(data.cache_gb * 1e9),
        )  # fmt: skip
    library.scan(progress)
    return library


@dataclass(frozen=True, slots=True)
class Games:
    """Training and validation games of a scanned library."""

    library: Loader
    train: Sequence[Game]
    validation: Sequence[Game]
    config: ImitationConfig

    @staticmethod
    def of(library: Library, config: ImitationConfig) -> Games:
        """Split a library by game.

        Raises:
            ConfigError: the training games are too short for a single decision, or have no known character.
        """
        train, validation = split(library.games, config.run.seed, config.folds)
        if not sum(game.rows for game in train):
            raise ConfigError(f"{library.folder}: the games to learn from are too short for a single decision")
        games = Games(library, train, [game for game in validation if game.rows], config)
        if not games.characters:
            found = ", ".join(games._rows_by_character())
            raise ConfigError(
                f"{library.folder}: there are only players of {found} to learn from; known are {', '.join(CHARACTERS)}"
            )
        return games

    @property
    def rows(self) -> int:
        return sum(game.rows for game in self.train)

    def lessons(self, epoch: int) -> Generator[Lesson, None, None]:
        """All training decisions once, in the order of this epoch."""
        return self._lessons(self.train, epoch, shuffle=True)

    def judging(self) -> Generator[Lesson, None, None]:
        """The validation games, or else the training games, in a fixed order."""
        return self._lessons(self.validation or self.train, 0, shuffle=False)

    def action_counts(self, heads: Heads, done: Callable[[int], None]) -> ActionCounts:
        """Count the actions in the training games; ``done`` gets the number of decisions after each game."""
        found = ActionCounts.none(heads)
        for game in self.train:
            for seat in self.library.load(game):
                found.add(torch.from_numpy(seat.action), torch.from_numpy(seat.last))
            done(found.rows)
        return found

    def description(self) -> dict[str, Any]:
        """Description of the replays for policy files; ``hash`` covers the files of both parts."""
        sides = {"train": self.train, "validation": self.validation}
        digest = hashlib.sha256()
        for name, games in sides.items():
            digest.update("\0".join([name, *(_wanted(game) for game in games)]).encode())
        characters = find_game(self.config.data.game).characters
        return {
            "hash": digest.hexdigest(),
            "games": {name: len(games) for name, games in sides.items()},
            "rows": {name: sum(game.rows for game in games) for name, games in sides.items()},
            **({"rows_by_character": self._rows_by_character()} if characters else {}),
        }

    @property
    def characters(self) -> tuple[str, ...]:
        """Characters of the players that have a table, the most frequent first; ``NO_CHARACTER`` in other games."""
        return tuple(name for name in self._rows_by_character() if name in (*CHARACTERS, NO_CHARACTER))

    @property
    def stage(self) -> str:
        return Counter(game.stage for game in self.train).most_common(1)[0][0]

    def _rows_by_character(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for game in self.train:
            for seat in game.seats:
                counts[seat.character] += seat.rows
        return dict(counts.most_common())

    def _lessons(self, games: Sequence[Game], epoch: int, *, shuffle: bool) -> Generator[Lesson, None, None]:
        config, seed = self.config, self.config.run.seed
        if not config.temporal:
            for rows in frames(self.library, games, config.learn.batch_size, seed, epoch):
                yield _lesson(rows)
            return
        lanes = min(config.lanes, sum(len(game.seats) for game in games))
        for part in windows(self.library, games, lanes, config.net.window, seed, epoch, shuffle):
            yield _lesson(part)


def _lesson(batch: Examples | WindowBatch) -> Lesson:
    columns = {field.name: getattr(batch, field.name, None) for field in fields(Lesson)}
    return Lesson(**{name: torch.from_numpy(column) for name, column in columns.items() if column is not None})


def _wanted(game: Game) -> str:
    return f"{game.hash}:{','.join(str(seat.seat) for seat in game.seats)}"
