"""Players and results of games as other programs spell them, in columns of tables and fields of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, final

from selfplay.league.external_games import Result

UNFINISHED: Final = "without a result"
"""Reason why a game whose result is ``*`` is not rated."""

_NUMBERS: Final = (("1", "2"), ("0", "1"), ("a", "b"))
_NAMED: Final = (("first", "second"), ("white", "black"), ("home", "away"))
_STEMS: Final = ("player", "agent", "bot", "model", "engine", "policy", "team", "name", "p")
SEATS: Final = (
    *((f"{a}{more}", f"{b}{more}") for more in ("", "player", "name") for a, b in _NAMED),
    *((f"{stem}{a}", f"{stem}{b}") for stem in _STEMS for a, b in _NUMBERS),
    ("a", "b"),
)
"""Spellings of the columns of both players; case, spaces and signs between words do not count."""
_PAID: Final = ("reward", "payoff", "return")
PAYOFFS: Final = (
    *((f"{word}{a}", f"{word}{b}") for word in _PAID for a, b in (*_NUMBERS[:2], *SEATS)),
    *((f"{a}{word}", f"{b}{word}") for word in _PAID for a, b in SEATS),
)
WINNER: Final = "winner"
RESULTS: Final = ("score", "result", "outcome", WINNER)
PAIR: Final = "pair"

FORMS: Final = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5, "*": None}
"""Results as PGN writes them; None is no result."""
_MORE_FORMS: Final = {**FORMS, "0.5-0.5": 0.5, "1/2": 0.5}
_DRAWN: Final = dict.fromkeys(("draw", "drawn", "tie", "tied", "d"), 0.5)
_WORDS: Final = {
    **_DRAWN,
    **dict.fromkeys(("win", "won", "w"), 1.0),
    **dict.fromkeys(("loss", "lose", "lost", "l"), 0.0),
}
_EXAMPLES: Final = "first and second, white and black, player1 and player2, player_a and player_b, and the like"
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_BETWEEN: Final = re.compile(r"[\s_.\-]+")
_SPELLED: Final = str.maketrans({"½": "1/2", "–": "-", "−": "-", ":": "-", ",": ".", " ": None})
_VALID: Final = "1, 0.5, 0 (of the first player), 1-0, 0-1, 1/2-1/2, win, loss, draw, the winner's name, * for none"
_VALID_WINNER: Final = "the winner's name, the name of its column, draw, 1-0, 0-1, * for none"


@final
@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a game, by their names in a file."""

    first: str
    second: str
    result: str | tuple[str, str]  # of the first player, or the payoffs of both
    pair: str | None

    @property
    def names(self) -> frozenset[str]:
        """All of them."""
        results = (self.result,) if isinstance(self.result, str) else self.result
        return frozenset({self.first, self.second, *results, *(() if self.pair is None else (self.pair,))})

    def game(self, row: Mapping[str, str]) -> Result | str:
        """The game of a row, or the reason why it is not rated; ValueError for a value that is not valid."""
        first, second = row.get(self.first, "").strip(), row.get(self.second, "").strip()
        label = "" if self.pair is None else row.get(self.pair, "").strip()
        if not isinstance(self.result, str):
            one, other = (_payoff(name, row.get(name, "")) for name in self.result)
            return Result.of_payoffs(first, second, (one, other), label)
        score = self._score(self.result, row.get(self.result, ""), first, second)
        return UNFINISHED if score is None else Result(first, second, score, label)

    def _score(self, column: str, value: str, first: str, second: str) -> float | None:
        """The score of the first player; None without a result."""
        written, text = value.strip(), value.translate(_SPELLED).casefold()
        is_winner = plain(column) == WINNER
        if text in _MORE_FORMS:
            return _MORE_FORMS[text]
        if not is_winner and _NUMBER.fullmatch(text) and 0.0 <= float(text) <= 1.0:
            return float(text)
        names = {second: 0.0, first: 1.0}, written
        columns = {plain(self.second): 0.0, plain(self.first): 1.0}, plain(written)
        words = (_DRAWN if is_winner else _WORDS), text
        for known, key in (names, columns, words) if is_winner else (words, names, columns):
            if key in known:
                return known[key]
        raise ValueError(f"{column} {value!r}; valid: {_VALID_WINNER if is_winner else _VALID}")


def plain(name: str) -> str:
    """A name of a column without what does not count."""
    return _BETWEEN.sub("", name).casefold()


def fields_of(names: Iterable[str]) -> Fields:
    """The fields of a game among the names of columns; ValueError if one is missing, or there are two of a kind."""
    known: dict[str, str] = {}
    for name in names:
        if known.setdefault(plain(name), name) != name:
            raise ValueError(f"the columns {known[plain(name)]!r} and {name!r} are spelled alike")
    seats = _pair_of(known, SEATS)
    if seats is None:
        raise ValueError(f"no columns of both players among {_shown(known)}; valid: {_EXAMPLES}")
    result = next((known[name] for name in RESULTS if name in known), None) or _pair_of(known, PAYOFFS)
    if result is None:
        raise ValueError(f"no result among {_shown(known)}; valid: {', '.join(RESULTS)}, or reward_1 and reward_2")
    return Fields(*seats, result, known.get(PAIR))


def _pair_of(known: Mapping[str, str], spellings: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """The only pair of columns among these spellings, or the first one, which is ours; None without any."""
    found = [pair for pair in spellings if pair[0] in known and pair[1] in known]
    if len(found) > 1 and found[0] != _NAMED[0]:
        names = "; ".join(" and ".join(known[name] for name in pair) for pair in found)
        raise ValueError(f"several pairs of columns may be meant: {names}; valid: one of them, or first and second")
    return (known[found[0][0]], known[found[0][1]]) if found else None


def _payoff(name: str, value: str) -> float:
    text = value.strip().replace(",", ".")
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{name} {value!r}; valid: a number")
    return float(text)


def _shown(known: Mapping[str, str], most: int = 12) -> str:
    names = [repr(name[:40]) for name in known.values()]
    return ", ".join(names[:most]) + ", ..." * (len(names) > most)
