"""Ratings from a whole ledger at once: Bradley-Terry on the expected score, with intervals that hold.

A draw is half a win. Elo is 1500 + strength * 400 / ln 10, where the strength of the anchor is 0. The order of the
games does not matter. Other scripted players may be pinned too, at values that were measured once and for all (see
``anchors``): then every ledger of the same settings is on one scale.

The prior is one virtual draw of each generation with its elder, and of everybody else with the anchor: it keeps
perfect scores and players who never met finite, and weighs nothing beside real games.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from selfplay.errors import LeagueError
from selfplay.league.bradley_terry import maximise, robust_covariance, table
from selfplay.league.chance import Z95, normal_below
from selfplay.league.records import ANCHOR, ResultRule, generation_number, ladder_key, scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from selfplay.league.games import Bools, Floats, Games, Ints


ANCHOR_ELO: Final = 1500.0
ELO: Final = 400.0 / math.log(10.0)
"""Elo points in one unit of strength."""
PRIOR_DRAWS: Final = 1.0
"""Virtual draws that tie each player to its elder or to the anchor."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Strengths of n players: scripted ones by name, then generations by age."""

    players: tuple[str, ...]
    elo: Floats  # [n]
    cov: Floats  # [n, n] of elo, in squared points; zero for the anchor, to which all errors are relative
    met: Ints  # [n, n] games between two players
    won: Floats  # [n, n] score of the row's player against the column's
    floor: Bools  # [n] the games bound the rating from below: the player took points, through others, from one pinned
    ceiling: Bools  # [n] they bound it from above: one pinned took points, through others, from the player
    pinned: Bools  # [n] the rating was given, not fitted

    @property
    def se(self) -> Floats:
        """[n] standard errors, in Elo points."""
        return np.sqrt(np.diag(self.cov))

    @property
    def low(self) -> Floats:
        """[n] lower ends of the 95% intervals."""
        return self.elo - Z95 * self.se

    @property
    def high(self) -> Floats:
        """[n] upper ends of the 95% intervals."""
        return self.elo + Z95 * self.se

    @property
    def games(self) -> Ints:
        """[n] games of each player."""
        return np.asarray(self.met.sum(axis=1))

    def index(self, player: str) -> int:
        """Position of a player in the arrays.

        Raises:
            LeagueError: it is not among the rated.
        """
        if player not in self.players:
            raise LeagueError(f"{player!r} has no rating (rated: {', '.join(self.players)})")
        return self.players.index(player)

    def components(self) -> tuple[tuple[str, ...], ...]:
        """Players who met, directly or through others, together; the anchor's component first."""
        left, found = list(range(len(self.players))), []
        start = self.pinned
        while left:
            reached = _reachable(self.met > 0, start)
            found.append(tuple(self.players[i] for i in left if reached[i]))
            left = [i for i in left if not reached[i]]
            start = np.arange(len(self.players)) == (left[0] if left else -1)
        return tuple(found)

    def gaps(self) -> tuple[Floats, Floats]:
        """[n, n] how much stronger the row's player is than the column's, in Elo, and the standard error of that."""
        return self.elo[:, None] - self.elo[None, :], np.sqrt(np.maximum(gap_variance(self.cov), 0.0))

    def difference(self, player: str, other: str) -> Difference:
        """How much stronger ``player`` is than ``other``, which their two intervals alone do not tell."""
        two = [self.index(player), self.index(other)]
        gap = float(self.elo[two[0]] - self.elo[two[1]])
        se = math.sqrt(max(0.0, float(gap_variance(self.cov[np.ix_(two, two)])[0, 1])))
        likely = normal_below(gap / se) if se > 0 else 0.5
        return Difference(gap, gap - Z95 * se, gap + Z95 * se, likely)


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """Elo difference with its 95% interval, and the likelihood that it is above zero."""

    elo: float
    low: float
    high: float
    superiority: float


def expected_score(elo: float, other: float) -> float:
    """Share of the points that a player rated ``elo`` takes from one rated ``other``."""
    return 1.0 / (1.0 + math.exp((other - elo) / ELO))


def gap_variance(cov: Floats) -> Floats:
    """[n, n] variance of the difference of two ratings, from the covariance of all."""
    variance = np.diag(cov)
    return np.asarray(variance[:, None] + variance[None, :] - 2.0 * cov)


def elo_of_score(share: float) -> float | None:
    """Elo difference at which a player takes this share of the points; None at 0 and 1, where there is none."""
    return ELO * math.log(share / (1.0 - share)) if 0.0 < share < 1.0 else None


def rate(
    games: Games,
    rule: ResultRule = "stocks_percent",
    players: Iterable[str] = (),
    parents: Mapping[str, str] | None = None,
    settings: str | None = None,
    anchors: Mapping[str, float] | None = None,
    anchor: str = ANCHOR,
) -> Ratings:
    """Fit the ratings of everybody who played under one set of settings.

    Args:
        games: of a ledger; those that are not comparable are left out, see ``Games.comparable``.
        rule: who wins a game.
        players: others to list who may not have played yet; the prior alone rates them.
        parents: the elder of a generation in the prior, where it is not simply the generation before it.
        settings: which settings; by default those of the newest game.
        anchors: Elo of scripted players that are pinned, beside the anchor.
        anchor: who stands at 1500.

    Raises:
        LeagueError: nothing was played under ``settings``.
    """
    players = list(players)
    games = games.comparable(settings, keep=players).games
    names = sorted({anchor, *players, *(games.players[i] for i in np.unique(games.seats))}, key=ladder_key)
    seats = games.seats_among(names)
    points = scores(games.stocks, games.percents, rule)
    size = len(names)
    met = table(seats, np.ones(len(games)), size) + table(seats[:, ::-1], np.ones(len(games)), size)
    won = table(seats, points, size) + table(seats[:, ::-1], 1.0 - points, size)
    ties = _prior(names, parents or {}, anchor)
    given = {**(anchors or {}), anchor: ANCHOR_ELO}
    known = np.array([(given[name] - ANCHOR_ELO) / ELO if name in given else np.nan for name in names])
    pinned = ~np.isnan(known)
    strength = maximise(met + ties, won + ties / 2.0, known)
    cov = robust_covariance(strength, seats, points, games.pairs, met, ties, ~pinned)
    return Ratings(
        players=tuple(names),
        elo=ANCHOR_ELO + ELO * strength,
        cov=ELO**2 * cov,
        met=met.astype(np.int64),
        won=won,
        floor=_reachable(won > 0, pinned, backwards=True),
        ceiling=_reachable(won > 0, pinned),
        pinned=pinned,
    )


def _prior(names: list[str], parents: Mapping[str, str], anchor: str) -> Floats:
    """[n, n] virtual draws."""
    ties = np.zeros((len(names), len(names)))
    place = {name: i for i, name in enumerate(names)}
    elder = base = place[anchor]
    for i, name in enumerate(names):
        if i == base:
            continue
        is_generation = generation_number(name) is not None
        tied = place.get(parents.get(name, ""), elder if is_generation else base)
        ties[i, tied] += PRIOR_DRAWS
        ties[tied, i] += PRIOR_DRAWS
        elder = i if is_generation else elder
    return ties


def _reachable(edges: Bools, start: Bools, *, backwards: bool = False) -> Bools:
    """[n] who can be reached from those in ``start``. An edge (i, j) says that i took points from j.

    Forwards from the anchors: those against whom one scored through others. ``backwards``: those who scored against
    one.
    """
    steps = edges.T if backwards else edges
    reached = start.copy()
    while True:
        wider = reached | steps[reached].any(axis=0)
        if (wider == reached).all():
            return reached
        reached = wider
