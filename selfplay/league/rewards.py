"""Comparisons of two frozen players by reward: rows of the ledger of a game with rewards.

In a game with a shared reward, a game between two players does not show which one is better. Instead each player plays
the same state, in the same seat, with the same partner, and the higher reward wins. In a game without a shared reward
the two players play each other, once in each seat. Games that are no dialogues have such rows, too, with scores in
the place of rewards (``ENDED``).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from selfplay.league.records import Count, LeagueRecord, RatablePlayer, Sampling, digest, pair_id

FORMAT: Final = 2
ENDED: Final = "ended"
"""Reason for the end of a game that is no dialogue. Rewards of its row are scores: 1 a win, 0.5 a draw, 0 a loss."""
EQUAL: Final = 1e-9  # tolerance below which two rewards are equal
BY_WINS: Final = "rewards of these games differ in size, and only wins count: to win more may still earn less"

Name = Annotated[str, Field(min_length=1)]


class RatedPlayer(LeagueRecord):
    """A frozen player."""

    player: RatablePlayer
    version: Name  # hash of the weights, or version of the scripted player


class RewardRecord(LeagueRecord):
    """The rewards of two different players in the same situation: a row of the ledger."""

    format: Literal[2] = FORMAT
    match: Annotated[str, Field(pattern=r"^[0-9a-f]{16}-[0-9a-f]{8}$")]
    seats: tuple[RatedPlayer, RatedPlayer]  # the two players; without a partner in seat order
    partner: RatedPlayer | None  # partner of each player, in one game each; None: they played each other
    seat: Literal[0, 1]  # seat of the first player, and with a partner of the second too
    seed: Count  # seed of the state
    rewards: tuple[float, float]  # of the two players; scores where the reasons are ENDED
    reasons: tuple[Name, Name]  # reasons for the ends of their games
    payoffs: tuple[float, float] | None = None  # sums of rewards of the seats, where ``rewards`` are scores
    steps: Count | None = None  # of the game, where they played each other; None: not counted
    settings: Name  # see settings_hash
    sampling: Sampling
    iteration: Count  # of the run, when the games were played
    wall: float = 0.0  # Unix time, seconds; the only field that two equal runs may differ in

    @model_validator(mode="after")
    def _two_players(self) -> Self:
        if self.seats[0].player == self.seats[1].player:
            raise ValueError(f"{self.seats[0].player!r} cannot be compared with itself")
        return self

    def row(self) -> str:
        """See ``LeagueRecord``; without payoffs where there are none."""
        return self.model_dump_json(exclude={"payoffs"} if self.payoffs is None else None)

    @classmethod
    def played(
        cls,
        *,
        seats: tuple[RatedPlayer, RatedPlayer],
        partner: RatedPlayer | None,
        seat: int,
        seed: int,
        settings: str,
        **rest: object,
    ) -> Self:
        """Make a record with its match id. ``rest`` are the remaining fields.

        All rows of two players on one state share the first part of the id and count as one observation.
        """
        who = [f"{side.player}@{side.version}" for side in (*seats, *((partner,) if partner else ()))]
        place = digest("|".join((*who, str(seat))), 4)
        match = f"{pair_id([(side.player, side.version) for side in seats], seed, settings)}-{place}"
        fields = {"seats": seats, "partner": partner, "seat": seat, "seed": seed, "settings": settings, **rest}
        return cls.model_validate({"match": match, **fields})


class PaidByScore:
    """The least and the largest payoff of each score: where they differ, scores do not tell payoffs."""

    def __init__(self) -> None:
        self._range: dict[float, tuple[float, float]] = {}

    def add(self, score: float, payoff: float) -> None:
        low, high = self._range.get(score, (payoff, payoff))
        self._range[score] = min(low, payoff), max(high, payoff)

    @property
    def differ(self) -> bool:
        """Whether payoffs of one score differ, as in poker; not where a game is won, drawn or lost and no more."""
        return any(high - low > EQUAL for low, high in self._range.values())


def counters(rewards: tuple[float, float]) -> tuple[int, int]:
    """Two counters that encode which reward is higher."""
    lead = rewards[0] - rewards[1]
    return int(lead > EQUAL), int(lead < -EQUAL)
