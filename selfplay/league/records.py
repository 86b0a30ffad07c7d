"""One rating game as it is kept for ever: who sat where, under which settings, and what the counters said at its end.

Who won is not stored. Stocks and percents are, so that any result rule can be applied later.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from selfplay.errors import LeagueError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray
    from pydantic import ValidationError

FORMAT: Final = 1
ANCHOR: Final = "random"
"""The scripted player whose rating is fixed, so that all runs share one scale."""
OUTSIDE: Final = frozenset({"idle"})
"""Scripted players that are no part of the ladder: who loses to them says nothing."""
MOVING: Final = frozenset({"current", "latest", "newest", "self"})
"""Names of players whose weights change. They have no strength that a rating could measure."""

ResultRule = Literal["stocks_percent", "stocks"]
Sampling = Literal["stochastic", "greedy"]
RULES: Final[tuple[ResultRule, ...]] = ("stocks_percent", "stocks")

_GENERATION = re.compile(r"gen_(0|[1-9][0-9]*)")
_PLAYER = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def generation_id(iteration: int) -> str:
    """The id of the generation saved after ``iteration`` iterations; 0 is the start."""
    return f"gen_{iteration}"


START: Final = generation_id(0)


def generation_number(player: str) -> int | None:
    """The iteration in a generation's id; None for a scripted player."""
    found = _GENERATION.fullmatch(player)
    return int(found[1]) if found else None


def ladder_key(player: str) -> tuple[int, str]:
    """Sort key: scripted players by name, then generations by age."""
    number = generation_number(player)
    return (-1, player) if number is None else (number, "")


def check_player(player: str) -> str:
    """The id itself, or a ValueError when it names nobody with a strength of its own."""
    if player in MOVING:
        raise ValueError(f"{player!r} changes while it plays and has no rating; name a generation such as 'gen_0'")
    if not _PLAYER.fullmatch(player) or (player.startswith("gen_") and generation_number(player) is None):
        raise ValueError(f"{player!r} is neither a generation (gen_12) nor a scripted player's name")
    return player


def first_problem(error: ValidationError, whole: str) -> str:
    """What is wrong with a document, in one line; ``whole`` names it where no field is to blame."""
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc'])) or whole}: {problem['msg']}"


class Record(BaseModel):
    """A document of the league."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def row(self) -> str:
        """The record as one line of JSON, without the line's end."""
        return self.model_dump_json()


class Seat(Record):
    """Who sat in a seat, and with which body and reaction time."""

    player: str
    version: Annotated[str, Field(min_length=1)]  # hash of the weights, or version of the scripted player
    character: Annotated[str, Field(min_length=1)]
    frame_skip: Annotated[int, Field(ge=1)]  # frames between two decisions
    delay: Annotated[int, Field(ge=0)]  # frames between seeing and acting

    @model_validator(mode="after")
    def _ratable(self) -> Self:
        check_player(self.player)
        return self


Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]


class MatchRecord(Record):
    """One game between two different frozen players: a row of the ledger. Pairs are in the order of the seats."""

    format: Literal[1] = FORMAT
    match: Annotated[str, Field(pattern=r"^[0-9a-f]{16}-[0-9a-f]{8}$")]  # see match_id
    seats: tuple[Seat, Seat]
    seed: Count
    round: Count = 0  # tells apart games of one pair on one seed
    stage: str
    stocks: tuple[Count, Count]  # left at the end
    percents: tuple[Amount, Amount]
    damage: tuple[Amount, Amount]  # dealt by the seat, in percent
    self_destructs: tuple[Count, Count]
    frames: Count  # length of the game
    ended: Literal["stocks", "timer", "cap"]
    settings: Annotated[str, Field(min_length=1)]  # settings_hash of all that makes games comparable
    sampling: Sampling
    iteration: Count  # of the run, when the game was played
    wall: float = 0.0  # Unix time, seconds; the only field that two equal runs may differ in

    @model_validator(mode="after")
    def _two_players(self) -> Self:
        if self.seats[0].player == self.seats[1].player:
            raise ValueError(f"mirror match: {self.seats[0].player!r} against itself says nothing about its strength")
        return self

    @classmethod
    def played(cls, *, seats: tuple[Seat, Seat], seed: int, settings: str, round: int = 0, **rest: object) -> Self:
        """The record of a game, with its match id made. ``rest`` are the remaining fields, all by name."""
        fields = {"seats": seats, "seed": seed, "settings": settings, "round": round, **rest}
        return cls.model_validate({"match": match_id(seats, seed, settings, round), **fields})


def match_id(seats: tuple[Seat, Seat], seed: int, settings: str, round: int = 0) -> str:
    """The id of a game: ``<pair>-<seating>``, both hashes, the same on every machine.

    All games of two players on one seed (seats swapped, characters swapped) share the first part: they share
    their luck too, and the ratings count them as one observation.
    """
    seating = "|".join(f"{seat.player}/{seat.character}/{seat.frame_skip}/{seat.delay}" for seat in seats)
    return f"{pair_id([(seat.player, seat.version) for seat in seats], seed, settings, round)}-{digest(seating, 4)}"


def pair_id(players: Iterable[tuple[str, str]], seed: int, settings: str, round: int = 0) -> str:
    """First part of a match id: the same for all games of these players (name and version) that share their luck."""
    low, high = sorted(f"{player}@{version}" for player, version in players)
    return digest(f"{low}|{high}|{seed}|{round}|{settings}", 8)


def settings_hash(settings: Mapping[str, object]) -> str:
    """Twelve hex digits over everything that makes games comparable (stage, cap, engine version, ...), in any order.

    Raises:
        LeagueError: a value that JSON cannot hold exactly (NaN included).
    """
    try:
        text = json.dumps(settings, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise LeagueError(f"settings cannot be hashed: {error}") from error
    return digest(text, 6)


def digest(text: str, size: int) -> str:
    """Hash of a text, so many bytes in hex digits."""
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def check_rule(rule: str) -> ResultRule:
    """The rule itself.

    Raises:
        LeagueError: no such rule.
    """
    for known in RULES:
        if rule == known:
            return known
    raise LeagueError(f"unknown result rule {rule!r} (valid: {', '.join(RULES)})")


def scores(stocks: ArrayLike, percents: ArrayLike, rule: ResultRule = "stocks_percent") -> NDArray[np.float64]:
    """Score of seat 0 in each game [N]: 1 a win, 0.5 a draw, 0 a loss.

    Args:
        stocks: [N, 2] left at the end; more wins.
        percents: [N, 2] at the end; on equal stocks fewer win, under the rule ``stocks_percent``.
        rule: ``stocks_percent``, or ``stocks``: equal stocks are a draw.
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


def by_stocks(record: MatchRecord) -> bool:
    """Whether the game was decided by stocks, and not by percents or not at all."""
    return record.stocks[0] != record.stocks[1]
