"""The games for training and validation, and their batches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import torch

from selfplay.errors import ConfigError
from selfplay.games.registry import find_game
from selfplay.imitation.batches import frames, windows
from selfplay.imitation.hook import Home, imitation_of
from selfplay.imitation.recordings import split
from selfplay.learner.imitation import Lesson
from selfplay.learner.imitation_metrics import ActionCounts

if TYPE_CHECKING:
    from selfplay.imitation.batches import Examples, WindowBatch
    from selfplay.imitation.recordings import Game, Recordings
    from selfplay.imitation.settings import ImitationConfig
    from selfplay.policy.heads import Heads


@dataclass(frozen=True, slots=True)
class Games:
    """Training and validation games of a scanned library; ``home`` is of those for training."""

    library: Recordings
    train: Sequence[Game]
    validation: Sequence[Game]
    config: ImitationConfig
    home: Home

    @staticmethod
    def of(library: Recordings, config: ImitationConfig) -> Games:
        """Split a library by game; ConfigError if the training games are too short for a single decision."""
        train, validation = split(library.games, config.run.seed, config.folds)
        if not sum(game.rows for game in train):
            raise ConfigError(f"{library.folder}: the games to learn from are too short for a single decision")
        home = imitation_of(find_game(config.data.game)).home(config, train)
        return Games(library, train, [game for game in validation if game.rows], config, home)

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
        """Description of the games for policy files; ``hash`` covers both parts."""
        sides = {"train": self.train, "validation": self.validation}
        digest = hashlib.sha256()
        for name, games in sides.items():
            digest.update("\0".join([name, *(_wanted(game) for game in games)]).encode())
        return {
            "hash": digest.hexdigest(),
            "games": {name: len(games) for name, games in sides.items()},
            "rows": {name: sum(game.rows for game in games) for name, games in sides.items()},
            **self.home.described,
        }

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
