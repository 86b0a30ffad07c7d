"""The facts of a fight in its record. No torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from selfplay.errors import LeagueError, first_problem
from selfplay.league.records import Amount, Count, LeagueRecord

if TYPE_CHECKING:
    from selfplay.league.records import GameRecord


class FightFacts(LeagueRecord):
    """The facts of a fight, see ``GameRecord``, in seat order."""

    stage: str
    characters: tuple[str, str]
    stocks: tuple[Count, Count]  # left at the end
    percents: tuple[Amount, Amount]
    damage: tuple[Amount, Amount]  # dealt by the seat, in percent
    self_destructs: tuple[Count, Count]
    finished: bool  # a player was out of stocks, so that neither timer nor cap ended the fight


def fight_facts(game: GameRecord) -> FightFacts:
    """The facts of a fight; LeagueError if the game is no fight, or they are invalid."""
    try:
        return FightFacts.model_validate(game.facts)
    except ValidationError as error:
        raise LeagueError(f"game {game.match} of the ledger: {first_problem(error, 'facts')}") from error
