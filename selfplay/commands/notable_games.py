"""Which of the rated games are worth watching, the best of each kind first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from selfplay.league.ratings import Ratings, expected_score
from selfplay.league.records import FINISHED, MatchRecord, ResultRule, generation_number, score


@dataclass(frozen=True, slots=True)
class Notable:
    """A game and why one would watch it."""

    kind: str  # a few words for a button
    why: str  # one sentence
    game: MatchRecord


def rated(records: Sequence[MatchRecord], ratings: Ratings, group: str) -> list[MatchRecord]:
    """The finished games of generations under these settings, newest weights only: one player was out of stocks.

    Games that ended otherwise are long and show little; games between scripted players show no progress.
    """
    ours = [game for game in records if f"{game.settings}/{game.sampling}" == group]
    newest = {seat.player: seat.version for game in ours for seat in game.seats}
    return [
        game
        for game in ours
        if game.ended == FINISHED
        and any(game.stocks)  # both may lose their last stock in one frame
        and all(seat.player in ratings.players and newest[seat.player] == seat.version for seat in game.seats)
        and any(generation_number(seat.player) is not None for seat in game.seats)
    ]


def notable(games: Sequence[MatchRecord], ratings: Ratings, rule: ResultRule = "stocks_percent") -> list[list[Notable]]:
    """For each kind its games, the most notable first, at most ``DEPTH`` of them.

    Args:
        games: from ``rated``.
        ratings: of the players, for what was expected.
        rule: who wins a game.
    """
    elo = dict(zip(ratings.players, ratings.elo.tolist(), strict=True))
    judged = [_Judged.of(game, elo, rule) for game in games]
    chosen = []
    for kind, key in KINDS.items():
        best = sorted(judged, key=lambda one, key=key: (key(one), one.game.match))[:DEPTH]  # type: ignore[misc]
        found = [Notable(kind, one.sentence(kind), one.game) for one in best if math.isfinite(key(one))]
        chosen.append(found)
    return [kind for kind in chosen if kind]


@dataclass(frozen=True, slots=True)
class _Judged:
    """A game with a winner, and how likely the ratings called that."""

    game: MatchRecord
    winner: str
    loser: str
    expected: float
    weaker: float  # Elo of the lower rated of the two

    @classmethod
    def of(cls, game: MatchRecord, elo: Mapping[str, float], rule: ResultRule) -> _Judged:
        first, second = (seat.player for seat in game.seats)
        winner, loser = (first, second) if score(game, rule) == 1.0 else (second, first)
        return cls(game, winner, loser, expected_score(elo[winner], elo[loser]), min(elo[winner], elo[loser]))

    def sentence(self, kind: str) -> str:
        left = max(self.game.stocks)
        stocks = f"{left} stock{'' if left == 1 else 's'}"
        text = f"{self.winner} beat {self.loser} with {stocks} left after {_clock(self.game.frames)}"
        if kind == UPSET:
            return f"{text}; the ratings gave it {self.expected:.1%} of the points."
        return f"{text}."


def _clock(frames: int) -> str:
    minutes, seconds = divmod(frames / 60.0, 60.0)
    return f"{int(minutes)}:{seconds:04.1f}"


UPSET: Final = "Biggest upset"
DEPTH: Final = 3  # games of a kind that are tried, since one may not be played again as it was
KINDS: Final[dict[str, Callable[[_Judged], float]]] = {
    UPSET: lambda one: one.expected if one.expected < 0.5 else math.inf,
    "Strongest pair": lambda one: -one.weaker,
    "Fastest win": lambda one: one.game.frames,
    "Longest game": lambda one: -one.game.frames,
}
"""What is notable, and by which number the games are sorted: the smallest first, infinite ones not at all."""
