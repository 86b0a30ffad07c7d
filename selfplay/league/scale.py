"""The scale of ratings: what they are measured in, how expected results follow from them, and how they are written.

A rating is ``origin + step * strength``. The results of all kinds of games are points of the first player, and 0.5 is
an even game: in games that are played to win a win is 1 and a draw 0.5. Payoffs are divided by twice their standard
deviation, so that a game has the variance of a coin flip, 1/4, in all kinds. The expected points follow from the gap in
strength: by Bradley-Terry if wins count (see ``bradley_terry``), and as 0.5 + gap / 4, its tangent, if payoffs count.

With payoffs x_i and x_j of the two players and ratings t_i and t_j that is

- ``reward``: E[(x_i - x_j) / 2] = t_i - t_j, in a zero-sum game the expected payoff of i;
- ``shared``: E[x_i] = E[x_j] = (t_i + t_j) / 2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Self, final

import numpy as np
from pydantic import BaseModel

from selfplay.games.objective import Kind
from selfplay.league.bradley_terry import information, pull, score_of_gap

if TYPE_CHECKING:
    from selfplay.league.games import Floats, GameTable

ANCHOR_ELO: Final = 1500.0
ELO: Final = 400.0 / math.log(10.0)  # Elo points in one unit of strength
A_GAME: Final = " a game"  # end of the unit of payoffs

Ends = tuple[float | None, float | None]
"""Ends of a 95% interval; None is an open one."""


@final
class Scale(BaseModel, frozen=True, extra="forbid"):
    """What ratings are measured in: Elo, or payoff a game."""

    objective: Kind = "outcome"
    unit: str = "Elo"  # of a rating
    origin: float = ANCHOR_ELO  # rating of strength 0: the anchor's, or of a shared reward the mean payoff of all games
    step: float = ELO  # of rating in one unit of strength

    @classmethod
    def of_games(cls, games: GameTable) -> Self:
        """The scale of comparable games."""
        objective, leads = games.objective, games.leads
        if leads is None:
            return cls()
        is_shared = objective.kind == "shared"
        origin = float(leads.mean()) if is_shared and len(leads) else 0.0
        spread = _spread(leads - origin, games)
        step = spread if is_shared else spread / 2.0
        return cls(objective=objective.kind, unit=f"{objective.unit}{A_GAME}", origin=origin, step=step)

    @property
    def by_payoff(self) -> bool:
        """Whether ratings are payoffs, and not Elo."""
        return self.objective != "outcome"

    @property
    def shared(self) -> bool:
        return self.objective == "shared"

    @property
    def sign(self) -> float:
        """Of the second player's strength in a gap: strengths of players that share a reward add up."""
        return 1.0 if self.shared else -1.0

    @property
    def payoff_of_a_point(self) -> float:
        """Payoff that is worth one point: two standard deviations of a game."""
        return self.step * (2.0 if self.shared else 4.0)

    def strength(self, rating: Floats) -> Floats:
        return np.asarray((rating - self.origin) / self.step)

    def gaps(self, strength: Floats) -> Floats:
        """[n, n] gap in strength of the row's player to the column's, from [n]; of a shared reward their sum."""
        return np.asarray(strength[:, None] + self.sign * strength[None, :])

    def gap_variance(self, cov: Floats) -> Floats:
        """[n, n] variance of the gaps, from the covariance of strengths or ratings."""
        variance = np.diag(cov)
        return np.asarray(variance[:, None] + variance[None, :] + 2.0 * self.sign * cov)

    def expected(self, gap: Floats) -> Floats:
        """Expected points."""
        return np.asarray(0.5 + 0.25 * gap) if self.by_payoff else score_of_gap(gap)

    def pull(self, gap: Floats) -> Floats:
        """Weight of a residual in the gradient of the log-likelihood, see ``bradley_terry.pull``."""
        return np.ones_like(gap) if self.by_payoff else pull(gap)

    def information(self, gap: Floats) -> Floats:
        """Expected information of a game about the gap."""
        return np.full_like(gap, 0.25) if self.by_payoff else information(gap)

    def prior_information(self, gap: Floats) -> Floats:
        """The same of a virtual draw, which has no upsets."""
        return np.full_like(gap, 0.25) if self.by_payoff else information(gap, 0.0)

    def variance(self, points: Floats, games: Floats | float) -> Floats:
        """Variance of the sum of the points of games with these expected ones, without draws."""
        return np.full_like(points, 0.25) * games if self.by_payoff else np.asarray(games * points * (1.0 - points))

    def points(self, games: GameTable) -> Floats:
        """[N] points of the first player."""
        if (leads := games.leads) is None:
            return games.scores
        return 0.5 + (leads - self.origin) / self.payoff_of_a_point

    def other(self, points: Floats) -> Floats:
        """Points of the second player."""
        return points if self.shared else 1.0 - points

    def result(self, points: Floats) -> Floats:
        """Mean points as results are shown: a score, or the mean of ``GameTable.leads``."""
        if not self.by_payoff:
            return points
        return np.asarray((points - 0.5) * self.payoff_of_a_point + (self.origin if self.shared else 0.0))

    def other_result(self, result: float) -> float:
        """The same result of the other player."""
        return result if self.shared else -result if self.by_payoff else 1.0 - result

    @property
    def form(self) -> str:
        """Format of a rating."""
        return f"+z.{self.decimals}f" if self.by_payoff else ".0f"

    @property
    def gap_form(self) -> str:
        """Format of a difference of ratings."""
        return self.form if self.by_payoff else "+.0f"

    @property
    def decimals(self) -> int:
        """Of a rating; payoffs have three significant digits of the standard deviation of a game."""
        return max(0, 2 - math.floor(math.log10(self.payoff_of_a_point / 2.0))) if self.by_payoff else 0

    def interval(self, ends: Ends) -> str:
        """A 95% interval of a rating as text."""
        return interval_text(ends, self.form)

    def gap(self, value: float, ends: Ends) -> str:
        """A difference of ratings with its interval: "+30 Elo (+10 to +50)"."""
        return f"{value:{self.gap_form}} {self.unit} ({interval_text(ends, self.gap_form)})"

    def result_text(self, result: float) -> str:
        """A result as text: a percentage of the points, or a payoff."""
        return f"{result:{self.form}}" if self.by_payoff else f"{result:.0%}"


ELO_SCALE: Final = Scale()


def _spread(leads: Floats, games: GameTable) -> float:
    """Standard deviation of the leads [N] of games around the mean of their pair of players; 1 if all are 0.

    One virtual game with the variance of all leads is added, since a pair with one game shows no variance.
    """
    if not len(leads) or not leads.any():
        return 1.0
    low, high = games.seats.min(axis=1), games.seats.max(axis=1)
    first = np.where(games.seats[:, 0] == low, leads, leads if games.objective.kind == "shared" else -leads)
    _, pair = np.unique(low * len(games.players) + high, return_inverse=True)
    pair = pair.ravel()
    mean = np.bincount(pair, weights=first) / np.bincount(pair)
    within, overall = np.square(first - mean[pair]).sum(), np.square(leads).mean()
    return math.sqrt(float(within + overall) / (len(leads) - len(mean) + 1))


def interval_text(ends: Ends, form: str = ".0f") -> str:
    """A 95% interval as text, the same in tables, logs and pages: "2021 to 2155", "2021 or more", "fixed"."""
    low, high = ends
    if low is None:
        return "unknown" if high is None else f"{high:{form}} or less"
    if high is None:
        return f"{low:{form}} or more"
    return "fixed" if low == high else f"{low:{form}} to {high:{form}}"
