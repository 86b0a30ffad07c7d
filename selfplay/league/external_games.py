"""Games of other programs as a table that is rated by the same code as a run's ledger."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Self, final

import numpy as np

from selfplay.errors import LeagueError
from selfplay.games.objective import EQUAL, Objective, PaidByScore
from selfplay.league.games import GameTable
from selfplay.league.leaderboard import analyse
from selfplay.league.records import ANCHOR

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from selfplay.league.games import Floats
    from selfplay.league.ratings import Ratings

LONGEST_NAME: Final = 64
LARGEST_PAYOFF: Final = 1e12  # squares of larger ones lose digits
MOST_PLAYERS: Final = 2000
"""The fit takes the cube of them in time and their square in memory."""
MOST_GAMES: Final = 20_000_000
UNIT: Final = "points"  # of payoffs, whose unit no file says
_SEATS: Final = 2
_NUMBERS: Final = 3  # integers per game


class Result(NamedTuple):
    """A game of two players. Games of the same two with one label ``pair`` count as one observation; "" is none."""

    first: str
    second: str
    score: float  # of the first player: 1 a win, 0.5 a draw, 0 a loss, or a share of a win
    pair: str = ""  # such as the opening or the seed that the games share
    payoffs: tuple[float, float] | None = None  # of both players

    @classmethod
    def of_payoffs(cls, first: str, second: str, payoffs: Sequence[float], pair: str = "") -> Self:
        """A game that the player with the larger payoff wins."""
        mine, others = payoffs
        lead = mine - others
        return cls(first, second, 0.5 if abs(lead) <= EQUAL else float(lead > 0), pair, (mine, others))


@final
class GameCollector:
    """Collects games of other programs, in a few bytes each."""

    def __init__(self) -> None:
        self._players: dict[str, int] = {}
        self._labels: dict[tuple[str, str, str], int] = {}
        self._pairs = 0
        self._numbers: array[int] = array("q")  # both players and the pair of each game
        self._scores: array[float] = array("d")
        self._payoffs: array[float] = array("d")  # of both players of each game; empty: no game has any
        self._paid = PaidByScore()
        self._skipped: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._scores)

    def skip(self, reason: str) -> None:
        """Count a game that is not rated."""
        self._skipped[reason] += 1

    def add(self, result: Result) -> None:
        """Add a game; ValueError if it cannot be rated."""
        first, second, score, label, payoffs = result
        for name in (first, second):
            if name not in self._players:
                self._add_player(name)
        if first == second:
            raise ValueError(f"{first!r} plays itself, which cannot be rated")
        if not 0.0 <= score <= 1.0:
            raise ValueError(f"score {score!r}; valid: 0 to 1, of the first player")
        if len(self) == MOST_GAMES:
            raise ValueError(f"more than {MOST_GAMES} games")
        if (payoffs is None) == bool(self._payoffs) and len(self):
            raise ValueError("payoffs; valid: of all games or of none")
        if payoffs is not None:
            self._add_payoffs(score, payoffs)
        self._numbers.extend((self._players[first], self._players[second], self._pair(first, second, label)))
        self._scores.append(score)

    def table(self, name: str) -> GameTable:
        """The table of all games. ``name`` is that of their settings. LeagueError without games."""
        if not len(self):
            skipped = "".join(f"; {count} {reason}" for reason, count in self._skipped.items())
            raise LeagueError(f"{name}: there are no games{skipped}")
        table = np.array(self._numbers, dtype=np.int64).reshape(-1, _NUMBERS)
        objective = self._paid.objective()
        payoffs = np.array(self._payoffs, dtype=np.float64).reshape(-1, _SEATS) if objective.by_payoff else None
        return GameTable(
            players=tuple(self._players),
            groups=(name,),
            seats=table[:, :_SEATS],
            versions=np.zeros((len(table), _SEATS), dtype=np.int64),
            scores=np.array(self._scores, dtype=np.float64),
            pairs=table[:, _SEATS],
            group=np.zeros(len(table), dtype=np.int64),
            external=True,
            skipped=dict(self._skipped),
            objectives=(Objective(objective.kind, unit=UNIT),) if objective.by_payoff else (),
            payoffs=payoffs,
        )

    def _add_player(self, name: str) -> None:
        if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
            raise ValueError(f"player {name[:LONGEST_NAME]!r}; valid: 1 to {LONGEST_NAME} printable characters")
        if len(self._players) == MOST_PLAYERS:
            raise ValueError(f"player {name!r}; at most {MOST_PLAYERS} players can be rated together")
        self._players[name] = len(self._players)

    def _add_payoffs(self, score: float, payoffs: tuple[float, float]) -> None:
        for payoff in payoffs:
            if not (math.isfinite(payoff) and abs(payoff) <= LARGEST_PAYOFF):
                raise ValueError(f"payoff {payoff:g}; valid: a number of at most {LARGEST_PAYOFF:g} either way")
        self._paid.add_game(score, payoffs)
        self._payoffs.extend(payoffs)

    def _pair(self, first: str, second: str, label: str) -> int:
        """Number of the observation that a game belongs to: a new one unless its label is known."""
        one, other = sorted((first, second))
        number = self._labels.setdefault((one, other, label), self._pairs) if label else self._pairs
        self._pairs += number == self._pairs
        return number


def table_of(results: Iterable[Result], name: str = "games") -> GameTable:
    """Games of other programs as a table that ``rate`` and ``diagnose`` read. ``name`` is that of their settings.

    LeagueError for no game, or a game with another score, one player only, or a name that cannot be shown.
    """
    games = GameCollector()
    for number, result in enumerate(results):
        try:
            games.add(result)
        except ValueError as error:
            raise LeagueError(f"game {number}: {error}") from None
    return games.table(name)


def ratings(
    first: Sequence[object] | ArrayLike,
    second: Sequence[object] | ArrayLike,
    score: ArrayLike | None = None,
    *,
    payoffs: ArrayLike | None = None,
    pair: Sequence[object] | ArrayLike | None = None,
    anchor: object = None,
) -> Ratings:
    """Rate the players of N games of any program, with 95% intervals, as ``selfplay leaderboard --games`` does.

    Where ``ceiling`` is False the games give no upper bound, as for a player without a lost point, and where ``floor``
    is False no lower one.

    Args:
        first: [N] names or numbers of the first players.
        second: [N] those of the second players.
        score: [N] of the first player: 1 a win, 0.5 a draw, 0 a loss, or a share of a win.
        payoffs: [N, 2] of both players, in place of ``score``. If equal scores are paid differently, as in poker,
            ratings are payoffs a game.
        pair: [N] labels. Games of the same two players with one label, such as a seed, count as one observation.
        anchor: The player at 1500 Elo, or at 0 of payoffs; by default ``random``, or who played most.

    Raises:
        LeagueError: the arrays differ in length, or a game cannot be rated.
    """
    if (score is None) == (payoffs is None):
        raise LeagueError("valid: either score or payoffs")
    one, other = _column("first", first), _column("second", second)
    labels = [""] * len(one) if pair is None else _column("pair", pair)
    if not len(one) == len(other) == len(labels):
        raise LeagueError(f"{len(one)} first players, {len(other)} second ones, {len(labels)} labels of pairs")
    if payoffs is None:
        games = table_of(map(Result, one, other, _floats("score", score, (len(one),)).tolist(), labels))
    else:
        paid = _floats("payoffs", payoffs, (len(one), _SEATS)).tolist()
        games = table_of(map(Result.of_payoffs, one, other, paid, labels))
    return analyse(games, anchor=default_anchor(games) if anchor is None else str(anchor)).ratings


def _column(name: str, values: Sequence[object] | ArrayLike) -> list[str]:
    """Names or labels as texts."""
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "iuUO":
        raise LeagueError(f"{name}: {found.dtype} of shape {found.shape}; valid: names or whole numbers [N]")
    return [str(value) for value in found.tolist()]


def _floats(name: str, values: ArrayLike | None, shape: tuple[int, ...]) -> Floats:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LeagueError(f"{name}: {error}; valid: numbers") from error
    if found.shape != shape:
        raise LeagueError(f"{name}: shape {found.shape}; valid: {shape}, as many games as in first")
    return found


def default_anchor(games: GameTable) -> str:
    """The default player at 1500: ``random`` if it played, else the player with the most games."""
    if ANCHOR in games.players:
        return ANCHOR
    return games.players[int(np.bincount(games.seats.ravel()).argmax())]
