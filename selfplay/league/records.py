"""The record of a rating game: players, settings, and final counters.

The winner is not stored. Any result rule can be applied to the stocks and percents later.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, model_validator

from selfplay.errors import LeagueError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

FORMAT: Final = 1
ANCHOR: Final = "random"
"""Scripted player with a fixed rating, which puts all runs on one scale."""
OUTSIDE: Final = frozenset({"idle"})
"""Scripted players that are not rated."""
MOVING: Final = frozenset({"current", "latest", "newest", "self"})
"""Names of players whose weights change, which cannot be rated."""

ResultRule = Literal["stocks_percent", "stocks"]
Sampling = Literal["stochastic", "greedy"]
RULES: Final[tuple[ResultRule, ...]] = ("stocks_percent", "stocks")
FINISHED: Final = "stocks"
"""``MatchRecord.ended`` of a game in which a player was out of stocks, so that neither timer nor cap ended it."""

_GENERATION = re.compile(r"gen_(0|[1-9][0-9]*)")
_PLAYER = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_PERSON = re.compile(r"person-([a-z0-9][a-z0-9_-]{0,39})")


def generation_id(iteration: int) -> str:
    """The id of the generation saved after ``iteration`` iterations; 0 is the start."""
    return f"gen_{iteration}"


START: Final = generation_id(0)


def generation_number(player: str) -> int | None:
    """The iteration in a generation's id; None for scripted players and people."""
    found = _GENERATION.fullmatch(player)
    return int(found[1]) if found else None


def person_name(player: str) -> str | None:
    """The name in a person's id; None for generations and scripted players."""
    found = _PERSON.fullmatch(player)
    return found[1] if found else None


def ladder_key(player: str) -> tuple[int, str]:
    """Sort key: scripted players and people by name, then generations by age."""
    number = generation_number(player)
    return (-1, player) if number is None else (number, "")


def check_player(player: str) -> str:
    """Return the id; ValueError if it is not a player that can be rated."""
    if player in MOVING:
        raise ValueError(f"{player!r} changes while it plays and has no rating; name a generation such as 'gen_0'")
    named = {"gen_": generation_number, "person-": person_name}
    of_kind = all(kind(player) is not None for start, kind in named.items() if player.startswith(start))
    if not _PLAYER.fullmatch(player) or not of_kind:
        raise ValueError(f"{player!r} is neither a generation (gen_12) nor a scripted player's name")
    return player


class LeagueRecord(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Base of the ledger's records."""

    def row(self) -> str:
        """The record as one line of JSON, without the newline."""
        return self.model_dump_json()


RatablePlayer = Annotated[str, AfterValidator(check_player)]


class MatchSeat(LeagueRecord):
    """The player of a seat, with character and reaction time."""

    player: RatablePlayer
    version: Annotated[str, Field(min_length=1)]  # hash of the weights, or version of the scripted player
    character: Annotated[str, Field(min_length=1)]
    frame_skip: Annotated[int, Field(ge=1)]  # frames between two decisions
    delay: Annotated[int, Field(ge=0)]  # frames between seeing and acting


Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]


class MatchRecord(LeagueRecord):
    """One game between two different frozen players: a row of the ledger. Tuples are in seat order."""

    format: Literal[1] = FORMAT
    match: Annotated[str, Field(pattern=r"^[0-9a-f]{16}-[0-9a-f]{8}$")]  # see match_id
    seats: tuple[MatchSeat, MatchSeat]
    seed: Count
    round: Count = 0  # distinguishes games of one pair on one seed
    stage: str
    stocks: tuple[Count, Count]  # left at the end
    percents: tuple[Amount, Amount]
    damage: tuple[Amount, Amount]  # dealt by the seat, in percent
    self_destructs: tuple[Count, Count]
    frames: Count  # length of the game
    ended: Literal["stocks", "timer", "cap"]
    settings: Annotated[str, Field(min_length=1)]  # see settings_hash
    sampling: Sampling
    iteration: Count  # of the run, when the game was played
    wall: float = 0.0  # Unix time, seconds; the only field that two equal runs may differ in

    @model_validator(mode="after")
    def _two_players(self) -> Self:
        if self.seats[0].player == self.seats[1].player:
            raise ValueError(f"mirror match: {self.seats[0].player!r} cannot be rated against itself")
        return self

    @classmethod
    def played(
        cls, *, seats: tuple[MatchSeat, MatchSeat], seed: int, settings: str, round: int = 0, **rest: object
    ) -> Self:
        """Make a record with its match id. ``rest`` are the remaining fields."""
        fields = {"seats": seats, "seed": seed, "settings": settings, "round": round, **rest}
        return cls.model_validate({"match": match_id(seats, seed, settings, round), **fields})


def match_id(seats: tuple[MatchSeat, MatchSeat], seed: int, settings: str, round: int = 0) -> str:
    """The id of a game: ``<pair>-<seating>``, two hashes that are the same on every machine.

    All games of two players on one seed (seats or characters swapped) have the same first part. The ratings count them
    as one observation, since they are correlated.
    """
    seating = "|".join(f"{seat.player}/{seat.character}/{seat.frame_skip}/{seat.delay}" for seat in seats)
    return f"{pair_id([(seat.player, seat.version) for seat in seats], seed, settings, round)}-{digest(seating, 4)}"


def pair_id(players: Iterable[tuple[str, str]], seed: int, settings: str, round: int = 0) -> str:
    """First part of a match id: the same for all games of two players (name, version) on one seed."""
    low, high = sorted(f"{player}@{version}" for player, version in players)
    return digest(f"{low}|{high}|{seed}|{round}|{settings}", 8)


def settings_hash(settings: Mapping[str, object]) -> str:
    """Hash, in twelve hex digits, of the settings that must agree for games to be comparable.

    Raises:
        LeagueError: a value cannot be stored as JSON, such as NaN.
    """
    try:
        text = json.dumps(settings, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise LeagueError(f"settings cannot be hashed: {error}") from error
    return digest(text, 6)


def digest(text: str, size: int) -> str:
    """Hash of a text in hex digits, ``size`` bytes long."""
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def check_rule(rule: str) -> ResultRule:
    """Return the rule.

    Raises:
        LeagueError: unknown rule.
    """
    for known in RULES:
        if rule == known:
            return known
    raise LeagueError(f"unknown result rule {rule!r} (valid: {', '.join(RULES)})")


def scores(stocks: ArrayLike, percents: ArrayLike, rule: ResultRule = "stocks_percent") -> NDArray[np.float64]:
    """Score of seat 0 in each game [N]: 1 a win, 0.5 a draw, 0 a loss.

    Args:
        stocks: [N, 2] final stocks; more stocks win.
        percents: [N, 2] final percents; on equal stocks lower percent wins under ``stocks_percent``.
        rule: ``stocks_percent``, or ``stocks``, under which equal stocks are a draw.
    """
    check_rule(rule)
    left, hurt = np.asarray(stocks, dtype=np.int64), np.asarray(percents, dtype=np.float64)
    lead: NDArray[np.float64] = np.sign(left[..., 0] - left[..., 1]).astype(np.float64)
    if rule == "stocks_percent":
        lead = np.where(lead == 0, np.sign(hurt[..., 1] - hurt[..., 0]), lead)
    return np.asarray((lead + 1.0) / 2.0)


def score(record: MatchRecord, rule: ResultRule = "stocks_percent") -> float:
    """Score of the player in seat 0: 1 a win, 0.5 a draw, 0 a loss."""
    return float(scores(record.stocks, record.percents, rule))
