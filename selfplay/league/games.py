"""The columns of a ledger: what ratings need of each game, as arrays, made without a pydantic object per row."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numpy.typing import NDArray

from envs.files import parse_json
from selfplay.errors import LeagueError
from selfplay.league import rewards
from selfplay.league.records import FORMAT, OUTSIDE, MatchRecord, check_player
from selfplay.league.retired import retired

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from selfplay.league.rewards import RewardRecord

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_ROW_BYTES: Final = 2**16
MAX_NAME: Final = 200
MOST_STOCKS: Final = 2**31
OTHER_SETTINGS: Final = "under other settings"
REPLACED: Final = "of weights since replaced"
UNRANKED: Final = "against players outside the ladder"
RETIRED: Final = "of generations that have not played for long"
_WIDTH: Final = 8  # whole numbers of a row


@dataclass(frozen=True, slots=True, eq=False)
class Paid:
    """What rows of a game of words say besides who won."""

    partners: Ints  # [N] player who sat opposite each of the two; -1: they sat opposite each other
    versions: Ints  # [N] weights of the partner; -1 where there is none
    rewards: Floats  # [N, 2] of the two

    def subset(self, keep: Bools) -> Paid:
        """The rows where ``keep`` [N] is true."""
        return Paid(self.partners[keep], self.versions[keep], self.rewards[keep])


@dataclass(frozen=True, slots=True, eq=False)
class Games:
    """N games in the order of the ledger. Indices point into the tuples of names."""

    players: tuple[str, ...]
    groups: tuple[str, ...]  # "<settings hash>/<sampling>": only games of one group are comparable
    seats: Ints  # [N, 2] player of each seat
    versions: Ints  # [N, 2] weights of each seat's player
    stocks: Ints  # [N, 2]
    percents: Floats  # [N, 2]
    pairs: Ints  # [N] games with the same number share their seed: same two players, seats or characters swapped
    group: Ints  # [N]
    duplicates: int = 0  # rows that repeated a match id and were ignored
    torn: bool = False  # the last row was incomplete and was ignored
    foreign: bool = False  # of another program: any names, and counters that only say who won
    paid: Paid | None = None  # of a game of words: its rows, whose counters only say who was paid more

    def __len__(self) -> int:
        return len(self.pairs)

    @classmethod
    def of(cls, records: Iterable[MatchRecord | RewardRecord]) -> Self:
        """The columns of records that are not (yet) in a file."""
        columns = Columns()
        for record in records:
            columns.add(record.row())
        return cls.folded(columns)

    @classmethod
    def folded(cls, columns: Columns, *, torn: bool = False) -> Self:
        """What was folded so far."""
        return cls(*columns.arrays(), duplicates=columns.duplicates, torn=torn, paid=columns.paid())

    @property
    def has_counters(self) -> bool:
        """Whether stocks and percents are those of fights."""
        return not self.foreign and self.paid is None

    def seats_among(self, names: Sequence[str]) -> Ints:
        """[N, 2] position in ``names`` of each seat's player, -1 for one who is not there."""
        position = {name: i for i, name in enumerate(names)}
        return np.array([position.get(name, -1) for name in self.players], dtype=np.int64)[self.seats]

    def subset(self, keep: Bools) -> Games:
        """The games where ``keep`` [N] is true; names and their indices stay."""
        if keep.all():
            return self  # as a rule nothing is left out: no copy of a long ledger
        return replace(
            self,
            seats=self.seats[keep],
            versions=self.versions[keep],
            stocks=self.stocks[keep],
            percents=self.percents[keep],
            pairs=self.pairs[keep],
            group=self.group[keep],
            paid=None if self.paid is None else self.paid.subset(keep),
        )

    def comparable(self, settings: str | None = None, keep: Iterable[str] = ()) -> Selection:
        """The games that may be rated together.

        Args:
            settings: a group, or the start of one, such as its settings hash; by default that of the newest game.
            keep: generations that are rated however long ago they played; the start is, too.

        Raises:
            LeagueError: no game was played under ``settings``.
        """
        if not len(self):
            return Selection(self, settings or "", {})
        wanted = self._group(settings)
        same = self.group == wanted
        newest = np.full(len(self.players), -1, dtype=np.int64)
        newest[self.seats[same]] = self.versions[same]  # of several the last one stays
        current = (self.versions == newest[self.seats]).all(axis=1)
        outside = np.isin(np.array(self.players), list(OUTSIDE)) & (not self.foreign)
        unranked = outside[self.seats].any(axis=1)
        counts = same & current & ~unranked
        gone = retired(self.players, self.seats[counts], keep) & (not self.foreign)
        too_old = counts & gone[self.seats].any(axis=1)
        left_out = Counter(
            {
                OTHER_SETTINGS: int((~same).sum()),
                REPLACED: int((same & ~current).sum()),
                UNRANKED: int((same & current & unranked).sum()),
                RETIRED: int(too_old.sum()),
            }
        )
        return Selection(self.subset(counts & ~too_old), self.groups[wanted], dict(+left_out))

    def _group(self, settings: str | None) -> int:
        if settings is None:
            return int(self.group[-1])
        found = [int(index) for index in np.unique(self.group) if self.groups[index].startswith(settings)]
        if not found:
            valid = ", ".join(sorted(self.groups[index] for index in np.unique(self.group)))
            raise LeagueError(f"no game was played under the settings {settings!r} (there are: {valid})")
        return max(found, key=lambda index: int(np.flatnonzero(self.group == index)[-1]))


@dataclass(frozen=True, slots=True)
class Selection:
    """Comparable games, the group they belong to, and how many others were left out, by reason."""

    games: Games
    settings: str
    left_out: Mapping[str, int]


@dataclass(slots=True)
class Columns:
    """Folds rows of JSON into columns, one at a time."""

    players: dict[str, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    numbers: array[int] = field(default_factory=lambda: array("q"))  # _WIDTH of each row
    percents: array[float] = field(default_factory=lambda: array("d"))  # two of each row
    partners: list[tuple[int, int]] = field(default_factory=list)  # and their versions; of a game of words
    rewards: list[tuple[float, float]] = field(default_factory=list)
    duplicates: int = 0

    def __len__(self) -> int:
        return len(self.numbers) // _WIDTH

    def add(self, line: str | bytes) -> bool:
        """Fold one row in; False when its match id was there already.

        Raises:
            json.JSONDecodeError: not JSON.
            ValueError, TypeError, KeyError: JSON, but no record of a game, or one of another kind of game.
        """
        row = parse_json(line, MAX_ROW_BYTES)
        match = row["match"]
        if match in self.seen:
            self.duplicates += 1
            return False
        if row["format"] not in (FORMAT, rewards.FORMAT):
            raise ValueError(f"format {row['format']!r}, this version reads {FORMAT} and {rewards.FORMAT}")
        first, second = row["seats"]
        if first["player"] == second["player"]:
            raise ValueError(f"mirror match of {first['player']!r}")
        of_words = row["format"] == rewards.FORMAT
        if self.numbers and of_words != bool(self.rewards):
            raise ValueError("a fight and a game of words in one ledger")
        counters, percents = _paid(row["rewards"]) if of_words else _counted(row["stocks"], row["percents"])
        numbers = (
            self._player(first["player"]),
            self._player(second["player"]),
            _number(self.versions, first["version"]),
            _number(self.versions, second["version"]),
            *counters,
            _number(self.pairs, match.partition("-")[0]),
            _number(self.groups, _printable(f"{row['settings']}/{row['sampling']}")),
        )
        if of_words:
            self.partners.append(self._partner(row["partner"]))
            self.rewards.append((row["rewards"][0], row["rewards"][1]))
        self.numbers.extend(numbers)
        self.percents.extend(percents)
        self.seen.add(match)
        return True

    def paid(self) -> Paid | None:
        """The field of ``Games``."""
        if not self.rewards:
            return None
        partners = np.array(self.partners, dtype=np.int64)
        return Paid(partners[:, 0], partners[:, 1], np.array(self.rewards, dtype=np.float64))

    def arrays(self) -> tuple[tuple[str, ...], tuple[str, ...], Ints, Ints, Ints, Floats, Ints, Ints]:
        """The first eight fields of ``Games``."""
        table = np.array(self.numbers, dtype=np.int64).reshape(-1, _WIDTH)  # copies: the columns grow on
        percents = np.array(self.percents, dtype=np.float64).reshape(-1, 2)
        names = tuple(self.players), tuple(self.groups)
        return *names, table[:, 0:2], table[:, 2:4], table[:, 4:6], percents, table[:, 6], table[:, 7]

    def _player(self, player: str) -> int:
        return self.players[player] if player in self.players else _number(self.players, check_player(player))

    def _partner(self, partner: dict[str, str] | None) -> tuple[int, int]:
        if partner is None:
            return -1, -1
        return self._player(partner["player"]), _number(self.versions, partner["version"])


def _counted(stocks: Sequence[int], percents: Sequence[float]) -> tuple[tuple[int, int], tuple[float, float]]:
    """Stocks and percents of a fight."""
    left, other_left = stocks
    percent, other_percent = percents
    if not (type(left) is type(other_left) is int and 0 <= left <= MOST_STOCKS and 0 <= other_left <= MOST_STOCKS):
        raise ValueError(f"stocks {stocks!r}")
    if not (math.isfinite(percent) and math.isfinite(other_percent)):
        raise ValueError(f"percents {percents!r}")
    return (left, other_left), (percent, other_percent)


def _paid(paid: Sequence[float]) -> tuple[tuple[int, int], tuple[float, float]]:
    """The same of a game of words, where they only say who was paid more."""
    first, second = paid
    if not (math.isfinite(first) and math.isfinite(second)):
        raise ValueError(f"rewards {paid!r}")
    return rewards.counters((first, second)), (0.0, 0.0)


def _printable(name: str) -> str:
    if len(name) > MAX_NAME or not name.isprintable():
        raise ValueError(f"settings {name[:MAX_NAME]!r}: up to {MAX_NAME} printable characters are needed")
    return name


def _number(numbers: dict[str, int], name: str) -> int:
    return numbers.setdefault(name, len(numbers))
