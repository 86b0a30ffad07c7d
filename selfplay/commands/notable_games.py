"""Which of the rated games are worth watching, the best of each kind first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selfplay.league.records import GameRecord, generation_number
from selfplay.report.tree import counted

if TYPE_CHECKING:
    from selfplay.league.games import Floats
    from selfplay.league.ratings import Ratings
    from selfplay.league.scale import Scale

Ended = Callable[[GameRecord], str | None]
"""How a game ended, as the end of a sentence; None: it did not finish."""


@dataclass(frozen=True, slots=True)
class Notable:
    """A game and why one would watch it."""

    kind: str  # a few words for a button
    why: str  # one sentence
    game: GameRecord


def rated(records: Sequence[GameRecord], ratings: Ratings, group: str, ended: Ended) -> list[GameRecord]:
    """The finished games of generations under these settings, newest weights only.

    Those that did not finish are long and show little; games between scripted players show no progress.
    """
    ours = [game for game in records if f"{game.settings}/{game.sampling}" == group]
    newest = {seat.player: seat.version for game in ours for seat in game.seats}
    return [
        game
        for game in ours
        if ended(game) is not None
        and all(seat.player in ratings.players and newest[seat.player] == seat.version for seat in game.seats)
        and any(generation_number(seat.player) is not None for seat in game.seats)
    ]


def after_steps(game: GameRecord) -> str | None:
    """``Ended`` of a game of steps."""
    return None if game.steps is None else f" after {counted(game.steps, 'step')}"


def notable(games: Sequence[GameRecord], ratings: Ratings, ended: Ended) -> list[list[Notable]]:
    """For each kind its games of ``rated``, the most notable first, at most ``DEPTH`` of them."""
    expected = ratings.scale.result(ratings.expected)
    judged = [_Judged.of(game, ratings, expected, ended(game) or "") for game in games]
    chosen = []
    for kind, key in KINDS.items():
        places = [(key(one), one.game.match, i) for i, one in enumerate(judged) if math.isfinite(key(one))]
        best = [judged[i] for _, _, i in sorted(places)[:DEPTH]]
        chosen.append([Notable(kind, one.sentence(kind), one.game) for one in best])
    return [kind for kind in chosen if kind]


def outcome(game: GameRecord, how: str) -> str:
    """Who beat whom, and ``how`` it ended: a sentence without its full stop."""
    first, second = (seat.player for seat in game.seats)
    winner, loser = (first, second) if game.score == 1.0 else (second, first)
    verb = "played with" if game.objective == "shared" else "drew with" if game.score == 0.5 else "beat"
    return f"{winner} {verb} {loser}{how}"


@dataclass(frozen=True, slots=True)
class _Judged:
    """A game, how it ended, and how likely the ratings called that."""

    game: GameRecord
    winner: str  # of a draw any of the two
    loser: str
    drawn: bool
    expected: float  # result of the winner: a score, or a payoff
    paid: float | None  # payoff of the winner; None if wins count
    weaker: float  # rating of the lower rated of the two
    length: int  # in steps
    how: str  # it ended
    scale: Scale

    @classmethod
    def of(cls, game: GameRecord, ratings: Ratings, expected: Floats, how: str) -> _Judged:
        """``expected`` [n, n] are results of the row's player against the column's."""
        first, second = (seat.player for seat in game.seats)
        winner, loser = (first, second) if game.score == 1.0 else (second, first)
        i, j = ratings.index(winner), ratings.index(loser)
        weaker = float(min(ratings.rating[i], ratings.rating[j]))
        paid = None
        if ratings.scale.by_payoff and game.rewards is not None:
            paid = abs(game.rewards[0] - game.rewards[1]) / 2.0
        drawn = game.score == 0.5
        return cls(game, winner, loser, drawn, expected[i, j], paid, weaker, game.steps or 0, how, ratings.scale)

    @property
    def upset(self) -> float:
        """Sort key: smaller for a less likely win; infinite for a draw, and for a win of the higher rated player."""
        if self.drawn or self.expected >= (0.5 if self.paid is None else 0.0):
            return math.inf
        return self.expected if self.paid is None else self.expected - self.paid

    def sentence(self, kind: str) -> str:
        text = outcome(self.game, self.how)
        if kind != UPSET:
            return f"{text}."
        if self.paid is None:
            return f"{text}; the ratings gave it {self.expected:.1%} of the points."
        form = self.scale.form
        return f"{text}, for {self.paid:{form}}; the ratings expected {self.expected:{form}} {self.scale.unit}."


UPSET: Final = "Biggest upset"
DEPTH: Final = 3  # games of a kind that are tried, since one may not be played again as it was
KINDS: Final[dict[str, Callable[[_Judged], float]]] = {
    "Strongest pair": lambda one: -one.weaker,  # first: pages open with it
    UPSET: lambda one: one.upset,
    "Fastest win": lambda one: math.inf if one.drawn else one.length,
    "Longest game": lambda one: -one.length,
}
"""Sort keys of the notable games, by title: the game with the smallest key is shown; infinity excludes a game."""
