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

from selfplay.errors import LeagueError
from selfplay.games.files import parse_json
from selfplay.games.objective import KINDS, OUTCOME, Objective, PaidByScore
from selfplay.league.pruning import inactive
from selfplay.league.records import FORMAT, OUTSIDE, check_player, check_score, person_name

if TYPE_CHECKING:
    from selfplay.league.records import GameRecord

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_ROW_BYTES: Final = 2**16
MAX_NAME: Final = 200
FINISHED, PARTNER = "finished", "partner"
"""Facts that leaderboards show: whether a game was played to its end, and the partner of both players or None."""
_WIDTH: Final = 7  # integers per row


@dataclass(frozen=True, slots=True, eq=False)
class RewardColumns:
    """Additional columns of games whose facts name a partner."""

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
    scores: Floats  # [N] of the first seat: 1 a win, 0.5 a draw, 0 a loss
    pairs: Ints  # [N] games of the same two players on one seed have the same number
    group: Ints  # [N]
    finished: Bools | None = None  # [N] played to the end; None: games without this fact
    duplicates: int = 0  # ignored rows with a repeated match id
    torn: bool = False  # an incomplete last row was ignored
    external: bool = False  # from another program: arbitrary names
    skipped: Mapping[str, int] = field(default_factory=dict)  # games of another program without a row, by reason
    paid: RewardColumns | None = None  # None: games without partners
    version_names: tuple[str, ...] = ()  # by their numbers in ``versions``
    by_wins: bool = False  # the games paid different rewards for a win, of which only the scores count
    objectives: tuple[Objective, ...] = ()  # of each group; empty: all are played to win
    payoffs: Floats | None = None  # [N, 2] of both seats, NaN where only scores count; None: in no game they count

    def __len__(self) -> int:
        return len(self.pairs)

    @classmethod
    def of(cls, records: Iterable[GameRecord]) -> Self:
        columns = TableBuilder()
        for record in records:
            columns.add(record.row())
        return cls.folded(columns)

    @classmethod
    def folded(cls, columns: TableBuilder, *, torn: bool = False) -> Self:
        """The table of all rows added so far."""
        numbers = np.array(columns.numbers, dtype=np.int64).reshape(-1, _WIDTH)  # a copy: the columns still grow
        return cls(
            players=tuple(columns.players),
            groups=tuple(columns.groups),
            seats=numbers[:, 0:2],
            versions=numbers[:, 2:4],
            scores=np.array(columns.scores, dtype=np.float64),
            pairs=numbers[:, 4],
            group=numbers[:, 5],
            finished=numbers[:, 6] == 1 if FINISHED in (columns.facts or ()) else None,
            duplicates=columns.duplicates,
            torn=torn,
            paid=columns.paid(),
            version_names=tuple(columns.versions),
            by_wins=columns.by_score.differ,
            objectives=tuple(columns.objectives),
            payoffs=columns.payoff_table(),
        )

    @property
    def objective(self) -> Objective:
        """What the players of these games are judged by: that of the newest one's group."""
        return self.objectives[int(self.group[-1])] if self.objectives and len(self) else OUTCOME

    @property
    def leads(self) -> Floats | None:
        """[N] what the rating of comparable games is fitted to; None where only scores count.

        Half the difference of the payoffs of the two seats, in a zero-sum game the payoff of the first one; of two
        players with the same partner the difference; of a shared reward the mean of both.
        """
        objective = self.objective
        if self.payoffs is None or not objective.by_payoff:
            return None
        first, second = self.payoffs.T
        if objective.kind == "shared":
            return np.asarray((first + second) / 2.0)
        compared = self.paid is not None and self.paid.partners >= 0
        return np.asarray((first - second) / np.where(compared, 1.0, 2.0))

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
            scores=self.scores[rows],
            pairs=self.pairs[rows],
            group=self.group[rows],
            finished=None if self.finished is None else self.finished[rows],
            paid=None if self.paid is None else self.paid.take(rows),
            payoffs=None if self.payoffs is None else self.payoffs[rows],
        )

    def comparable(
        self, settings: str | None = None, keep: Iterable[str] = (), weights: Mapping[str, str] | None = None
    ) -> Selection:
        """The games that can be rated together.

        ``settings`` is a group or a prefix of one, such as its settings hash; by default the group of the newest game.
        Generations in ``keep``, and the start, are rated however long ago they played. ``weights`` are hashes of the
        only weights of players whose games count, by default those of the newest game of each.
        LeagueError if no game was played under ``settings``.
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
                "under other settings": int((~same).sum()),
                "of weights since replaced": int((same & ~current).sum()),
                "against players outside the ladder": int((same & current & unranked).sum()),
                "of generations that have not played for long": int(too_old.sum()),
                **self.skipped,
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
    scores: array[float] = field(default_factory=lambda: array("d"))
    facts: frozenset[str] | None = None  # names of the facts of all rows; None: no row yet
    partners: list[tuple[int, int]] = field(default_factory=list)  # partner and version, in games with partners
    rewards: list[tuple[float, float]] = field(default_factory=list)  # of games with partners
    by_score: PaidByScore = field(default_factory=PaidByScore)  # payoffs of games without partners that only count wins
    objectives: list[Objective] = field(default_factory=list)  # of each group
    payoffs: array[float] = field(default_factory=lambda: array("d"))  # two per row, NaN where only scores count
    duplicates: int = 0

    def __len__(self) -> int:
        return len(self.numbers) // _WIDTH

    def add(self, line: str | bytes) -> bool:
        """Add a row; returns False if its match id was already present.

        JSONDecodeError if it is not JSON; ValueError, TypeError or KeyError if it is no record of such a game.
        """
        row = parse_json(line, MAX_ROW_BYTES)
        match = row["match"]
        if match in self.seen:
            self.duplicates += 1
            return False
        if row["format"] != FORMAT:
            raise ValueError(f"format {row['format']!r}, this version reads {FORMAT}")
        first, second = row["seats"]
        if first["player"] == second["player"]:
            raise ValueError(f"mirror match of {first['player']!r}")
        facts, score = row["facts"], check_score(row["score"])
        rewards = None if row["rewards"] is None else _finite(row["rewards"])
        objective = _objective(row.get("objective"), row.get("unit"), rewards)
        if self.facts is not None and facts.keys() != self.facts:
            raise ValueError("games of two kinds in one ledger")
        numbers = (
            self._player(first["player"]),
            self._player(second["player"]),
            _number(self.versions, first["version"]),
            _number(self.versions, second["version"]),
            _number(self.pairs, match.partition("-")[0]),
            self._group(_printable(f"{row['settings']}/{row['sampling']}"), objective),
            _flag(facts.get(FINISHED, False)),
        )
        if PARTNER in facts:
            self._add_rewards(facts[PARTNER], rewards)
        elif rewards is not None and not objective.by_payoff:
            self.by_score.add_game(score, rewards)
        self.payoffs.extend(rewards if rewards is not None and objective.by_payoff else (math.nan, math.nan))
        self.facts = frozenset(facts)
        self.numbers.extend(numbers)
        self.scores.append(score)
        self.seen.add(match)
        return True

    def paid(self) -> RewardColumns | None:
        """The ``paid`` field of ``GameTable``."""
        if not self.rewards:
            return None
        partners = np.array(self.partners, dtype=np.int64)
        return RewardColumns(partners[:, 0], partners[:, 1], np.array(self.rewards, dtype=np.float64))

    def payoff_table(self) -> Floats | None:
        """The ``payoffs`` field of ``GameTable``."""
        if not any(objective.by_payoff for objective in self.objectives):
            return None
        return np.array(self.payoffs, dtype=np.float64).reshape(-1, 2)

    def _group(self, name: str, objective: Objective) -> int:
        known = self.groups.get(name)
        if known is None:
            self.objectives.append(objective)
        elif self.objectives[known] != objective:
            raise ValueError(f"games under the settings {name!r} are judged in two ways")
        return _number(self.groups, name)

    def _player(self, player: str) -> int:
        return self.players[player] if player in self.players else _number(self.players, check_player(player))

    def _add_rewards(self, partner: dict[str, str] | None, rewards: tuple[float, float] | None) -> None:
        if rewards is None:
            raise ValueError("a game with a partner has no rewards")
        version = -1 if partner is None else _number(self.versions, partner["version"])
        self.partners.append((-1 if partner is None else self._player(partner["player"]), version))
        self.rewards.append(rewards)


def _objective(kind: object, unit: object, rewards: tuple[float, float] | None) -> Objective:
    """The objective of a row."""
    if kind is None:
        return OUTCOME
    found = next((known for known in KINDS if known == kind), None)
    if found is None or found == OUTCOME.kind or not isinstance(unit, str):
        raise ValueError(f"objective {kind!r}, unit {unit!r}")
    if rewards is None:
        raise ValueError(f"objective {kind!r} without rewards")
    return Objective(found, unit=_printable(unit))


def _finite(rewards: Sequence[float]) -> tuple[float, float]:
    first, second = rewards
    if not (math.isfinite(first) and math.isfinite(second)):
        raise ValueError(f"rewards {rewards!r}")
    return first, second


def _flag(finished: object) -> bool:
    if not isinstance(finished, bool):
        raise TypeError(f"finished {finished!r}")
    return finished


def _printable(name: str) -> str:
    if len(name) > MAX_NAME or not name.isprintable():
        raise ValueError(f"settings {name[:MAX_NAME]!r}: valid: up to {MAX_NAME} printable characters")
    return name


def _number(numbers: dict[str, int], name: str) -> int:
    return numbers.setdefault(name, len(numbers))
