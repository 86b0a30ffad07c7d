"""The record of a rating game of any kind: players, settings, score, rewards, and the game's own figures."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, JsonValue, model_validator

from selfplay.errors import LeagueError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT: Final = 2
ANCHOR: Final = "random"
"""Scripted player with a fixed rating, which puts all runs on one scale."""
OUTSIDE: Final = frozenset({"idle"})
"""Scripted players that are not rated."""
MOVING: Final = frozenset({"current", "latest", "newest", "self"})
"""Names of players whose weights change, which cannot be rated."""

Sampling = Literal["stochastic", "greedy"]
SCORES: Final = (0.0, 0.5, 1.0)

_OF_PAYOFFS: Final = {"objective", "unit"}
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


def check_score(score: object) -> float:
    """Return the score; ValueError if it is none of ``SCORES``."""
    if not isinstance(score, float | int) or score not in SCORES:
        raise ValueError(f"score {score!r} (valid: 0, 0.5, 1)")
    return float(score)


class LeagueRecord(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Base of what a row of the ledger consists of."""


RatablePlayer = Annotated[str, AfterValidator(check_player)]
Name = Annotated[str, Field(min_length=1)]


class Seat(LeagueRecord):
    """A frozen player, and its version."""

    player: RatablePlayer
    version: Name  # hash of the weights, or version of the scripted player

    def __str__(self) -> str:
        return f"{self.player}@{self.version}"


Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]
Facts = dict[str, JsonValue]


class GameRecord(LeagueRecord):
    """One rated game of two different frozen players: a row of the ledger. Tuples are in seat order.

    In a game with a shared reward, a game between two players does not show which one is better. Instead each of them
    plays the same state, in the same seat, with the same partner, and the rewards are compared; ``facts`` names the
    partner. All rows of one game have facts of the same names.
    """

    format: Literal[2] = FORMAT
    match: Annotated[str, Field(pattern=r"^[0-9a-f]{16}-[0-9a-f]{8}$")]  # see match_id
    game: Name  # by its name in the registry
    seats: tuple[Seat, Seat]
    seed: Count
    round: Count = 0  # distinguishes games of one pair on one seed
    score: Annotated[float, BeforeValidator(check_score)]  # of the first player: 1 a win, 0.5 a draw, 0 a loss
    rewards: tuple[float, float] | None = None  # payoffs of each player; None: not counted
    objective: Literal["reward", "shared"] | None = None  # see ``Objective.kind``; None: the score counts
    unit: Name | None = None  # of payoffs that count
    steps: Count | None = None  # of the game, such as frames; None: not counted
    facts: Facts = {}  # the game's own figures
    settings: Name  # see settings_hash
    sampling: Sampling
    iteration: Count  # of the run, when the game was played
    wall: float = 0.0  # Unix time, seconds; the only field that two equal runs may differ in

    @model_validator(mode="after")
    def _two_players(self) -> Self:
        if self.seats[0].player == self.seats[1].player:
            raise ValueError(f"mirror match: {self.seats[0].player!r} cannot be rated against itself")
        return self

    def row(self) -> str:
        """The record as one line of JSON, without the newline."""
        return self.model_dump_json(exclude=_OF_PAYOFFS if self.objective is None else None)

    @classmethod
    def played(
        cls,
        *,
        seats: tuple[Seat, Seat],
        seed: int,
        settings: str,
        place: Iterable[object] = (),
        round: int = 0,
        **rest: object,
    ) -> Self:
        """Make a record with its match id; arguments as of ``match_id``, and the remaining fields."""
        fields = {"seats": seats, "seed": seed, "settings": settings, "round": round, **rest}
        return cls.model_validate({"match": match_id(seats, seed, settings, place, round), **fields})


def match_id(seats: tuple[Seat, Seat], seed: int, settings: str, place: Iterable[object] = (), round: int = 0) -> str:
    """The id of a game: ``<pair>-<seating>``, two hashes that are the same on every machine.

    All games of two players on one seed (seats or roles swapped) have the same first part. The ratings count them
    as one observation, since they are correlated. ``place`` tells apart the games of these seats on one seed, such as
    their roles; for ``settings`` see ``settings_hash``.
    """
    low, high = sorted(map(str, seats))
    seating = "|".join(map(str, (*seats, *place)))
    return f"{digest(f'{low}|{high}|{seed}|{round}|{settings}', 8)}-{digest(seating, 4)}"


def settings_hash(settings: Mapping[str, object]) -> str:
    """Hash, in twelve hex digits, of the settings that must agree for games to be comparable."""
    try:
        text = json.dumps(settings, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise LeagueError(f"settings cannot be hashed: {error}") from error
    return digest(text, 6)


def digest(text: str, size: int) -> str:
    """Hash of a text in hex digits, ``size`` bytes long."""
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
