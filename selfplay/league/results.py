"""The learner's scores against each opponent in training, and sampling probabilities based on them.

The learner changes during these games, so they are not used for ratings. Old results are discounted.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, final

import numpy as np
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from selfplay.league.games import Floats

MEMORY: Final = 200.0  # maximum effective number of games per opponent; older games are discounted
PRIOR_GAMES: Final = 4.0  # pseudo-games with score 0.5 that are added for each opponent
QUALITY_STEP: Final = 0.01  # change of the loser's quality per win, divided by how often it is drawn


class ResultsState(BaseModel, frozen=True, extra="forbid"):
    """The state of ``Results``, as JSON."""

    games: dict[str, float] = Field(default_factory=dict)
    points: dict[str, float] = Field(default_factory=dict)
    quality: dict[str, float] = Field(default_factory=dict)


@final
class Results:
    """The learner's scores by opponent, and the quality of the opponents."""

    def __init__(self, state: ResultsState | None = None) -> None:
        state = state or ResultsState()
        self._games = dict(state.games)
        self._points = dict(state.points)
        self._quality = dict(state.quality)

    def state(self) -> ResultsState:
        return ResultsState(games=dict(self._games), points=dict(self._points), quality=dict(self._quality))

    def add(self, opponent: str, score: float) -> None:
        """Add a game. ``score`` is the learner's: 1 a win, 0.5 a draw, 0 a loss."""
        keep = min(1.0, (MEMORY - 1.0) / max(self._games.get(opponent, 0.0), 1.0))
        self._games[opponent] = self._games.get(opponent, 0.0) * keep + 1.0
        self._points[opponent] = self._points.get(opponent, 0.0) * keep + score

    def tally(self, scores: Mapping[str, Sequence[float]], players: Sequence[str]) -> None:
        """Add the games of an iteration, by opponent. ``players`` are the opponents with a quality."""
        for opponent in sorted(scores):
            for score in scores[opponent]:
                self.add(opponent, score)
                if score == 1.0:
                    self.beaten(opponent, players)

    def score(self, opponent: str) -> float:
        """The learner's mean score, shrunk towards 0.5."""
        points = self._points.get(opponent, 0.0) + 0.5 * PRIOR_GAMES
        return points / (self._games.get(opponent, 0.0) + PRIOR_GAMES)

    def games(self, opponent: str) -> float:
        """Discounted number of games."""
        return self._games.get(opponent, 0.0)

    def admit(self, players: Iterable[str]) -> None:
        """Add new opponents with the highest quality so far."""
        for player in players:
            if player not in self._quality:
                self._quality[player] = max(self._quality.values(), default=0.0)

    def keep(self, players: Collection[str]) -> None:
        """Forget all other opponents, which bounds memory in long runs."""
        for known in (self._games, self._points, self._quality):
            for player in known.keys() - players:
                del known[player]

    def beaten(self, opponent: str, players: Sequence[str]) -> None:
        """The learner won against ``opponent``, drawn among ``players``: its quality falls by 0.01 / (N p)."""
        if opponent not in players or opponent not in self._quality:
            return
        chance = float(self.by_quality(players)[list(players).index(opponent)])
        self._quality[opponent] -= min(1.0, QUALITY_STEP / (len(players) * max(chance, 1e-6)))

    def by_quality(self, players: Sequence[str]) -> Floats:
        """Probabilities: softmax of the qualities (OpenAI Five, arXiv 1912.06680, "Opponent sampling")."""
        quality = np.array([self._quality.get(player, 0.0) for player in players])
        return _shares(np.exp(quality - quality.max(initial=-math.inf)))

    def by_difficulty(self, players: Sequence[str]) -> Floats:
        """Probabilities proportional to (1 - x)^2 with the learner's score x: prefers hard opponents (PFSP)."""
        return _shares(np.array([(1.0 - self.score(player)) ** 2 for player in players]))

    def by_variance(self, players: Sequence[str]) -> Floats:
        """Probabilities proportional to x(1 - x): prefers opponents of equal strength."""
        return _shares(np.array([self.score(player) * (1.0 - self.score(player)) for player in players]))


def _shares(weights: Floats) -> Floats:
    total = float(weights.sum())
    return weights / total if total > 0.0 else np.full(len(weights), 1.0 / max(len(weights), 1))
