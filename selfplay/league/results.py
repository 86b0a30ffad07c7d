"""What the learner scored in training against each opponent, and what that says about whom to meet next.

Training games, with a policy that changes: no ratings are made of them. Old results fade, so that an opponent who was
hard once and is not any more is not met for ever.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from selfplay.league.games import Floats

MEMORY: Final = 200.0
"""Games that results of one opponent are worth at most: older ones count for less and less."""
PRIOR_GAMES: Final = 4.0
"""Even games that everybody is taken to have played: few results say little."""
QUALITY_STEP: Final = 0.01
"""How far a win moves the quality of the loser, before it is divided by how often that one is met."""


class ResultsState(BaseModel):
    """Of ``Results``, as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    games: dict[str, float] = Field(default_factory=dict)
    points: dict[str, float] = Field(default_factory=dict)
    quality: dict[str, float] = Field(default_factory=dict)


@final
class Results:
    """Scores of the learner against others, and the quality of those others."""

    def __init__(self, state: ResultsState | None = None) -> None:
        state = state or ResultsState()
        self._games = dict(state.games)
        self._points = dict(state.points)
        self._quality = dict(state.quality)

    def state(self) -> ResultsState:
        """Everything, to go on from."""
        return ResultsState(games=dict(self._games), points=dict(self._points), quality=dict(self._quality))

    def add(self, opponent: str, score: float) -> None:
        """One game: 1 the learner won, 0.5 a draw, 0 it lost."""
        keep = min(1.0, (MEMORY - 1.0) / max(self._games.get(opponent, 0.0), 1.0))
        self._games[opponent] = self._games.get(opponent, 0.0) * keep + 1.0
        self._points[opponent] = self._points.get(opponent, 0.0) * keep + score

    def score(self, opponent: str) -> float:
        """Share of the points that the learner takes, pulled towards one half where few games are known."""
        points = self._points.get(opponent, 0.0) + 0.5 * PRIOR_GAMES
        return points / (self._games.get(opponent, 0.0) + PRIOR_GAMES)

    def games(self, opponent: str) -> float:
        """Games that are known, as far as they have not faded."""
        return self._games.get(opponent, 0.0)

    def admit(self, players: Iterable[str]) -> None:
        """Newcomers start with the highest quality there is."""
        for player in players:
            if player not in self._quality:
                self._quality[player] = max(self._quality.values(), default=0.0)

    def keep(self, players: Collection[str]) -> None:
        """Forget what is known of all others: a long run has more opponents than anybody could meet again."""
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
        """Chances by the softmax of the qualities (OpenAI Five, arXiv 1912.06680, section "Opponent sampling")."""
        quality = np.array([self._quality.get(player, 0.0) for player in players])
        return _shares(np.exp(quality - quality.max(initial=-math.inf)))

    def by_difficulty(self, players: Sequence[str]) -> Floats:
        """Chances in proportion to (1 - x)^2, x being the learner's score: the hard ones first (AlphaStar's PFSP)."""
        return _shares(np.array([(1.0 - self.score(player)) ** 2 for player in players]))

    def by_variance(self, players: Sequence[str]) -> Floats:
        """Chances in proportion to x(1 - x): those of its own strength first."""
        return _shares(np.array([self.score(player) * (1.0 - self.score(player)) for player in players]))


def _shares(weights: Floats) -> Floats:
    total = float(weights.sum())
    return weights / total if total > 0.0 else np.full(len(weights), 1.0 / max(len(weights), 1))


def tally(scores: Mapping[str, Sequence[float]], results: Results, players: Sequence[str]) -> None:
    """Add the games of an iteration, by opponent; ``players`` are those that quality is about."""
    for opponent in sorted(scores):
        for score in scores[opponent]:
            results.add(opponent, score)
            if score == 1.0:
                results.beaten(opponent, players)
