"""Comparisons of two frozen players by what they were paid: rows of the ledger of a game of words.

Where both seats of a game are paid the same, a game between two players says nothing about which of them is the better
one. So each plays the same state, in the same seat, with the same partner, and who was paid more has won. In a game
without a shared reward the two sit opposite each other, once in each seat.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from selfplay.league.records import Count, Record, Sampling, check_player, digest, pair_id

FORMAT: Final = 2
EQUAL: Final = 1e-9
"""Rewards that differ by no more are equal."""

Name = Annotated[str, Field(min_length=1)]


class Side(Record):
    """A frozen player."""

    player: str
    version: Name  # hash of the weights, or version of the scripted player

    @model_validator(mode="after")
    def _ratable(self) -> Self:
        check_player(self.player)
        return self


class RewardRecord(Record):
    """What two different players were paid in the same place: a row of the ledger."""

    format: Literal[2] = FORMAT
    match: Annotated[str, Field(pattern=r"^[0-9a-f]{16}-[0-9a-f]{8}$")]
    seats: tuple[Side, Side]  # the two; without a partner in the order of the seats
    partner: Side | None  # who sat opposite each of them, in a game each; None: they sat opposite each other
    seat: Literal[0, 1]  # of the first of the two, and of the second where there is a partner
    seed: Count  # of the state
    rewards: tuple[float, float]  # of the two
    reasons: tuple[Name, Name]  # how their games ended
    settings: Name  # settings_hash of all that makes games comparable
    sampling: Sampling
    iteration: Count  # of the run, when the games were played
    wall: float = 0.0  # Unix time, seconds; the only field that two equal runs may differ in

    @model_validator(mode="after")
    def _two_players(self) -> Self:
        if self.seats[0].player == self.seats[1].player:
            raise ValueError(f"{self.seats[0].player!r} compared with itself says nothing about its strength")
        return self

    @classmethod
    def played(
        cls, *, seats: tuple[Side, Side], partner: Side | None, seat: int, seed: int, settings: str, **rest: object
    ) -> Self:
        """The record of a comparison, with its match id made. ``rest`` are the remaining fields, all by name.

        All rows of two players on one state share the first part of the id, and count as one observation.
        """
        who = [f"{side.player}@{side.version}" for side in (*seats, *((partner,) if partner else ()))]
        place = digest("|".join((*who, str(seat))), 4)
        match = f"{pair_id([(side.player, side.version) for side in seats], seed, settings)}-{place}"
        fields = {"seats": seats, "partner": partner, "seat": seat, "seed": seed, "settings": settings, **rest}
        return cls.model_validate({"match": match, **fields})


def counters(rewards: tuple[float, float]) -> tuple[int, int]:
    """Which of two was paid more, as counters of which the larger wins."""
    lead = rewards[0] - rewards[1]
    return int(lead > EQUAL), int(lead < -EQUAL)
