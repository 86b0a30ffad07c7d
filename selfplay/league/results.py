"""The learner's scores against each opponent in training, and sampling probabilities based on them.

In games that are judged by payoffs the score is that of its leads, see ``score_of_leads``. The learner changes during
these games, so they are not used for ratings. Old results are discounted.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, final

import numpy as np
from pydantic import BaseModel, Field

from selfplay.games.objective import EQUAL
from selfplay.league.payoffs import score_of_leads

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
    leads: dict[str, float] = Field(default_factory=dict)  # sums, of games that are judged by payoffs
    squares: dict[str, float] = Field(default_factory=dict)  # of leads, sums


@final
class Results:
    """The learner's scores by opponent, and the quality of the opponents."""

    def __init__(self, state: ResultsState | None = None) -> None:
        state = state or ResultsState()
        self._games = dict(state.games)
        self._points = dict(state.points)
        self._quality = dict(state.quality)
        self._leads = dict(state.leads)
        self._squares = dict(state.squares)

    def state(self) -> ResultsState:
        return ResultsState(
            games=dict(self._games),
            points=dict(self._points),
            quality=dict(self._quality),
            leads=dict(self._leads),
            squares=dict(self._squares),
        )

    def add(self, opponent: str, score: float) -> None:
        """Add a game. ``score`` is the learner's: 1 a win, 0.5 a draw, 0 a loss."""
        keep = self._count(opponent)
        self._points[opponent] = self._points.get(opponent, 0.0) * keep + score

    def add_lead(self, opponent: str, lead: float) -> None:
        """Add a game that is judged by payoffs, with the lead of the learner."""
        keep = self._count(opponent)
        self._leads[opponent] = self._leads.get(opponent, 0.0) * keep + lead
        self._squares[opponent] = self._squares.get(opponent, 0.0) * keep + lead**2

    def _count(self, opponent: str) -> float:
        """Count a game; what the older ones are multiplied by."""
        keep = min(1.0, (MEMORY - 1.0) / max(self._games.get(opponent, 0.0), 1.0))
        self._games[opponent] = self._games.get(opponent, 0.0) * keep + 1.0
        return keep

    def tally(self, results: Mapping[str, Sequence[float]], players: Sequence[str], *, leads: bool = False) -> None:
        """Add the games of an iteration, by opponent: scores, or leads. ``players`` are those with a quality."""
        add, beaten = (self.add_lead, EQUAL) if leads else (self.add, 1.0 - EQUAL)
        for opponent in sorted(results):
            for result in results[opponent]:
                add(opponent, result)
                if result > beaten:
                    self.beaten(opponent, players)

    def score(self, opponent: str) -> float:
        """The learner's mean score, shrunk towards 0.5."""
        if opponent in self._squares:
            games = self._games[opponent]
            found = score_of_leads(self._leads[opponent], self._squares[opponent], games)
            return 0.5 + (found - 0.5) * games / (games + PRIOR_GAMES)
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
        for known in (self._games, self._points, self._quality, self._leads, self._squares):
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
