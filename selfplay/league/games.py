"""The games of a ledger as arrays. Rows are parsed without a pydantic object each, for speed."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numpy.typing import NDArray

from envs.files import parse_json
from selfplay.errors import LeagueError
from selfplay.league import rewards
from selfplay.league.pruning import inactive
from selfplay.league.records import FINISHED, FORMAT, OUTSIDE, MatchRecord, check_player, person_name
from selfplay.league.rewards import PaidByScore

if TYPE_CHECKING:
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
_WIDTH: Final = 9  # integers per row


@dataclass(frozen=True, slots=True, eq=False)
class RewardColumns:
    """Additional columns of dialogue games, whose rows have rewards."""

    partners: Ints  # [N] partner of each of the two players; -1: they played each other
    versions: Ints  # [N] version of the partner; -1 without one
    rewards: Floats  # [N, 2]

    def take(self, rows: Ints) -> RewardColumns:
        """These rows, by their numbers."""
        return RewardColumns(self.partners[rows], self.versions[rows], self.rewards[rows])


@dataclass(frozen=True, slots=True, eq=False)
class GameTable:
    """N games in ledger order. Players and groups are indices into the tuples of names."""

    players: tuple[str, ...]
    groups: tuple[str, ...]  # "<settings hash>/<sampling>": only games of one group are comparable
    seats: Ints  # [N, 2] player of each seat
    versions: Ints  # [N, 2] version of each player's weights
    stocks: Ints  # [N, 2]
    percents: Floats  # [N, 2]
    pairs: Ints  # [N] games of the same two players on one seed have the same number
    group: Ints  # [N]
    finished: Bools | None = None  # [N] a player was out of stocks; None: not fights
    duplicates: int = 0  # ignored rows with a repeated match id
    torn: bool = False  # an incomplete last row was ignored
    external: bool = False  # from another program: arbitrary names; the counters only encode the winner
    paid: RewardColumns | None = None  # dialogue games; their counters only encode which reward was higher
    version_names: tuple[str, ...] = ()  # by their numbers in ``versions``
    by_wins: bool = False  # the games paid different rewards for a win, of which only the scores count

    def __len__(self) -> int:
        return len(self.pairs)

    @classmethod
    def of(cls, records: Iterable[MatchRecord | RewardRecord]) -> Self:
        columns = TableBuilder()
        for record in records:
            columns.add(record.row())
        return cls.folded(columns)

    @classmethod
    def folded(cls, columns: TableBuilder, *, torn: bool = False) -> Self:
        """The table of all rows added so far."""
        names = tuple(columns.versions)
        return cls(
            *columns.arrays(),
            duplicates=columns.duplicates,
            torn=torn,
            paid=columns.paid(),
            version_names=names,
            by_wins=columns.payoffs.differ,
        )

    @property
    def has_counters(self) -> bool:
        """True if stocks and percents are real counters of a fight."""
        return not self.external and self.finished is not None

    @property
    def of_people(self) -> Bools:
        """[N] games in which a person played. Games of other programs have none, whatever their players' names."""
        people = np.array([person_name(name) is not None for name in self.players], dtype=np.bool_)
        return np.asarray(people[self.seats].any(axis=1) & (not self.external))

    @property
    def weights(self) -> dict[str, str]:
        """Hash of each player's newest weights, or the version of a scripted player."""
        newest = dict(zip(self.seats.ravel().tolist(), self.versions.ravel().tolist(), strict=True))
        names = dict(enumerate(self.version_names))
        return {self.players[player]: names.get(version, "") for player, version in newest.items()}

    def seats_among(self, names: Sequence[str]) -> Ints:
        """[N, 2] index in ``names`` of each seat's player, -1 if it is missing."""
        position = {name: i for i, name in enumerate(names)}
        return np.array([position.get(name, -1) for name in self.players], dtype=np.int64)[self.seats]

    def subset(self, keep: Bools) -> GameTable:
        """Games where ``keep`` [N] is true; names and indices do not change."""
        return self if keep.all() else self.take(np.flatnonzero(keep))  # common case: do not copy a long ledger

    def take(self, rows: Ints) -> GameTable:
        """These games, by their numbers, in this order; names and indices do not change."""
        return replace(
            self,
            seats=self.seats[rows],
            versions=self.versions[rows],
            stocks=self.stocks[rows],
            percents=self.percents[rows],
            pairs=self.pairs[rows],
            group=self.group[rows],
            finished=None if self.finished is None else self.finished[rows],
            paid=None if self.paid is None else self.paid.take(rows),
        )

    def comparable(
        self, settings: str | None = None, keep: Iterable[str] = (), weights: Mapping[str, str] | None = None
    ) -> Selection:
        """The games that can be rated together.

        Args:
            settings: a group or a prefix of one, such as its settings hash; default: the group of the newest game.
            keep: generations that are rated however long ago they played, in addition to the start.
            weights: hash of the only weights of a player whose games count; default: those of its newest game.

        Raises:
            LeagueError: no game was played under ``settings``.
        """
        if not len(self):
            return Selection(self, settings or "", {})
        wanted = self._group(settings)
        same = self.group == wanted
        newest = np.full(len(self.players), -1, dtype=np.int64)
        newest[self.seats[same]] = self.versions[same]  # the last assignment wins
        for player, version in (weights or {}).items():
            if player in self.players:
                known = version in self.version_names
                newest[self.players.index(player)] = self.version_names.index(version) if known else -1
        current = (self.versions == newest[self.seats]).all(axis=1)
        outside = np.isin(np.array(self.players), list(OUTSIDE)) & (not self.external)
        unranked = outside[self.seats].any(axis=1)
        counts = same & current & ~unranked
        gone = inactive(self.players, self.seats[counts], keep) & (not self.external)
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

    def group_named(self, settings: str | None = None) -> str:
        """The group that ``comparable`` would choose; errors as there."""
        return self.groups[self._group(settings)] if len(self) else settings or ""

    def _group(self, settings: str | None) -> int:
        if settings is None:
            return int(self.group[-1])
        found = [int(index) for index in np.unique(self.group) if self.groups[index].startswith(settings)]
        if not found:
            valid = ", ".join(sorted(self.groups[index] for index in np.unique(self.group)))
            raise LeagueError(f"no game was played under the settings {settings!r} (valid: {valid})")
        return max(found, key=lambda index: int(np.flatnonzero(self.group == index)[-1]))


@dataclass(frozen=True, slots=True)
class Selection:
    """Comparable games, their group, and the number of excluded games by reason."""

    games: GameTable
    settings: str
    left_out: Mapping[str, int]


@dataclass(slots=True)
class TableBuilder:
    """Collects JSON rows into columns."""

    players: dict[str, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    numbers: array[int] = field(default_factory=lambda: array("q"))  # _WIDTH per row
    percents: array[float] = field(default_factory=lambda: array("d"))  # two per row
    partners: list[tuple[int, int]] = field(default_factory=list)  # partner and version; not of fights
    rewards: list[tuple[float, float]] = field(default_factory=list)
    scored: bool = False  # the rewards are scores
    payoffs: PaidByScore = field(default_factory=PaidByScore)  # of games whose rewards are scores
    duplicates: int = 0

    def __len__(self) -> int:
        return len(self.numbers) // _WIDTH

    def add(self, line: str | bytes) -> bool:
        """Add a row; returns False if its match id was already present.

        Raises:
            json.JSONDecodeError: not JSON.
            ValueError, TypeError, KeyError: not a game record, or one of another kind of game.
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
        has_rewards = row["format"] == rewards.FORMAT
        if self.numbers and has_rewards != bool(self.rewards):
            raise ValueError("fights and games with rewards in one ledger")
        counters, percents = _paid(row["rewards"]) if has_rewards else _counted(row["stocks"], row["percents"])
        numbers = (
            self._player(first["player"]),
            self._player(second["player"]),
            _number(self.versions, first["version"]),
            _number(self.versions, second["version"]),
            *counters,
            _number(self.pairs, match.partition("-")[0]),
            _number(self.groups, _printable(f"{row['settings']}/{row['sampling']}")),
            0 if has_rewards else int(row["ended"] == FINISHED),
        )
        if has_rewards:
            self.partners.append(self._partner(row["partner"]))
            self.rewards.append((row["rewards"][0], row["rewards"][1]))
            self.scored |= rewards.ENDED in row["reasons"]
            for score, payoff in zip(row["rewards"], row.get("payoffs") or (), strict=False):
                if not math.isfinite(payoff):
                    raise ValueError(f"payoffs {row['payoffs']!r}")
                self.payoffs.add(score, payoff)
        self.numbers.extend(numbers)
        self.percents.extend(percents)
        self.seen.add(match)
        return True

    def paid(self) -> RewardColumns | None:
        """The ``paid`` field of ``GameTable``."""
        if not self.rewards or self.scored:
            return None
        partners = np.array(self.partners, dtype=np.int64)
        return RewardColumns(partners[:, 0], partners[:, 1], np.array(self.rewards, dtype=np.float64))

    def arrays(self) -> tuple[tuple[str, ...], tuple[str, ...], Ints, Ints, Ints, Floats, Ints, Ints, Bools | None]:
        """The first nine fields of ``GameTable``."""
        table = np.array(self.numbers, dtype=np.int64).reshape(-1, _WIDTH)  # a copy: the columns still grow
        percents = np.array(self.percents, dtype=np.float64).reshape(-1, 2)
        names = tuple(self.players), tuple(self.groups)
        finished = None if self.rewards else table[:, 8] == 1
        return *names, table[:, 0:2], table[:, 2:4], table[:, 4:6], percents, table[:, 6], table[:, 7], finished

    def _player(self, player: str) -> int:
        return self.players[player] if player in self.players else _number(self.players, check_player(player))

    def _partner(self, partner: dict[str, str] | None) -> tuple[int, int]:
        if partner is None:
            return -1, -1
        return self._player(partner["player"]), _number(self.versions, partner["version"])


def _counted(stocks: Sequence[int], percents: Sequence[float]) -> tuple[tuple[int, int], tuple[float, float]]:
    """Validated stocks and percents of a fight."""
    left, other_left = stocks
    percent, other_percent = percents
    if not (type(left) is type(other_left) is int and 0 <= left <= MOST_STOCKS and 0 <= other_left <= MOST_STOCKS):
        raise ValueError(f"stocks {stocks!r}")
    if not (math.isfinite(percent) and math.isfinite(other_percent)):
        raise ValueError(f"percents {percents!r}")
    return (left, other_left), (percent, other_percent)


def _paid(paid: Sequence[float]) -> tuple[tuple[int, int], tuple[float, float]]:
    """Counters of a game with rewards, which only encode the higher reward."""
    first, second = paid
    if not (math.isfinite(first) and math.isfinite(second)):
        raise ValueError(f"rewards {paid!r}")
    return rewards.counters((first, second)), (0.0, 0.0)


def _printable(name: str) -> str:
    if len(name) > MAX_NAME or not name.isprintable():
        raise ValueError(f"settings {name[:MAX_NAME]!r}: valid: up to {MAX_NAME} printable characters")
    return name


def _number(numbers: dict[str, int], name: str) -> int:
    return numbers.setdefault(name, len(numbers))
