"""Which of the rated games are worth watching, the best of each kind first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from selfplay.league.ratings import Ratings, expected_score
from selfplay.league.records import GameRecord, generation_number
from selfplay.report.tree import counted

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
    elo = dict(zip(ratings.players, ratings.rating.tolist(), strict=True))
    judged = [_Judged.of(game, elo, ended(game) or "") for game in games]
    chosen = []
    for kind, key in KINDS.items():
        places = [(key(one), one.game.match, i) for i, one in enumerate(judged) if math.isfinite(key(one))]
        best = [judged[i] for _, _, i in sorted(places)[:DEPTH]]
        chosen.append([Notable(kind, one.sentence(kind), one.game) for one in best])
    return [kind for kind in chosen if kind]


@dataclass(frozen=True, slots=True)
class _Judged:
    """A game, how it ended, and how likely the ratings called that."""

    game: GameRecord
    winner: str  # of a draw any of the two
    loser: str
    drawn: bool
    expected: float  # score of the winner
    weaker: float  # Elo of the lower rated of the two
    length: int  # in steps
    how: str  # it ended

    @classmethod
    def of(cls, game: GameRecord, elo: Mapping[str, float], how: str) -> _Judged:
        first, second = (seat.player for seat in game.seats)
        winner, loser = (first, second) if game.score == 1.0 else (second, first)
        expected = expected_score(elo[winner], elo[loser])
        weaker = min(elo[winner], elo[loser])
        return cls(game, winner, loser, game.score == 0.5, expected, weaker, game.steps or 0, how)

    def sentence(self, kind: str) -> str:
        text = f"{self.winner} {'drew with' if self.drawn else 'beat'} {self.loser}{self.how}"
        if kind == UPSET:
            return f"{text}; the ratings gave it {self.expected:.1%} of the points."
        return f"{text}."


UPSET: Final = "Biggest upset"
DEPTH: Final = 3  # games of a kind that are tried, since one may not be played again as it was
KINDS: Final[dict[str, Callable[[_Judged], float]]] = {
    UPSET: lambda one: one.expected if one.expected < 0.5 and not one.drawn else math.inf,
    "Strongest pair": lambda one: -one.weaker,
    "Fastest win": lambda one: math.inf if one.drawn else one.length,
    "Longest game": lambda one: -one.length,
}
"""Sort keys of the notable games, by title: the game with the smallest key is shown; infinity excludes a game."""
