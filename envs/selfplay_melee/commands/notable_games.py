"""Which of the rated games are worth watching, the best of each kind first, and games by their match id."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selfplay.errors import ConfigError
from selfplay.league.ledger import read_records
from selfplay.league.ratings import Ratings, expected_score
from selfplay.league.records import GameRecord, generation_number
from selfplay.report.tree import counted
from selfplay_melee.facts import fight_facts

if TYPE_CHECKING:
    from selfplay.checkpoint import RunDir


def rated_game(run: RunDir, match: str) -> GameRecord:
    """The game in the run's ledger with this match id, or the only one whose id starts with it; else ConfigError."""
    if not run.ledger.is_file():
        raise ConfigError(f"{run.path} has no rating games; train it with --track-elo")
    found = [game for game in read_records(run.ledger) if game.match.startswith(match)] if match else []
    exact = [game for game in found if game.match == match]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if not found:
        raise ConfigError(f"{run.ledger} has no game {match!r}")
    ids = ", ".join(game.match for game in found[:4])
    raise ConfigError(f"{match!r} is the start of {len(found)} games: {ids}{', ...' if len(found) > 4 else ''}")


@dataclass(frozen=True, slots=True)
class Notable:
    """A game and why one would watch it."""

    kind: str  # a few words for a button
    why: str  # one sentence
    game: GameRecord


def rated(records: Sequence[GameRecord], ratings: Ratings, group: str) -> list[GameRecord]:
    """The finished games of generations under these settings, newest weights only.

    Fights are finished when a player is out of stocks. Those that ended otherwise are long and show little; games
    between scripted players show no progress.
    """
    ours = [game for game in records if f"{game.settings}/{game.sampling}" == group]
    newest = {seat.player: seat.version for game in ours for seat in game.seats}
    return [
        game
        for game in ours
        if _finished(game)
        and all(seat.player in ratings.players and newest[seat.player] == seat.version for seat in game.seats)
        and any(generation_number(seat.player) is not None for seat in game.seats)
    ]


def _finished(game: GameRecord) -> bool:
    if not _is_fight(game):
        return game.steps is not None
    facts = fight_facts(game)
    return facts.finished and any(facts.stocks)  # both may lose their last stock in one frame


def _is_fight(game: GameRecord) -> bool:
    return "stocks" in game.facts


def notable(games: Sequence[GameRecord], ratings: Ratings) -> list[list[Notable]]:
    """For each kind its games of ``rated``, the most notable first, at most ``DEPTH`` of them."""
    elo = dict(zip(ratings.players, ratings.elo.tolist(), strict=True))
    judged = [_Judged.of(game, elo) for game in games]
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
    length: int  # in frames or steps

    @classmethod
    def of(cls, game: GameRecord, elo: Mapping[str, float]) -> _Judged:
        first, second = (seat.player for seat in game.seats)
        winner, loser = (first, second) if game.score == 1.0 else (second, first)
        expected = expected_score(elo[winner], elo[loser])
        return cls(game, winner, loser, game.score == 0.5, expected, min(elo[winner], elo[loser]), game.steps or 0)

    def sentence(self, kind: str) -> str:
        text = f"{self.winner} {'drew with' if self.drawn else 'beat'} {self.loser}{self._how()}"
        if kind == UPSET:
            return f"{text}; the ratings gave it {self.expected:.1%} of the points."
        return f"{text}."

    def _how(self) -> str:
        if not _is_fight(self.game):
            return f" after {counted(self.length, 'step')}"
        left = max(fight_facts(self.game).stocks)
        return f" with {counted(left, 'stock')} left after {_clock(self.length)}"


def _clock(frames: int) -> str:
    minutes, seconds = divmod(frames / 60.0, 60.0)
    return f"{int(minutes)}:{seconds:04.1f}"


UPSET: Final = "Biggest upset"
DEPTH: Final = 3  # games of a kind that are tried, since one may not be played again as it was
KINDS: Final[dict[str, Callable[[_Judged], float]]] = {
    UPSET: lambda one: one.expected if one.expected < 0.5 and not one.drawn else math.inf,
    "Strongest pair": lambda one: -one.weaker,
    "Fastest win": lambda one: math.inf if one.drawn else one.length,
    "Longest game": lambda one: -one.length,
}
"""Sort keys of the notable games, by title: the game with the smallest key is shown; infinity excludes a game."""
