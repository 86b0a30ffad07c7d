"""Fixed ratings of scripted players and shipped policies, measured once for each set of settings.

A run plays only a few dozen games against each scripted player. Ratings fitted from those games alone would differ
from run to run, and so would all others. Trained policies also beat every scripted player, and games that are always
won do not say how strong the winner is. A game therefore may bring ratings of scripted players and of policies above
them, from many games with generations between them (``anchor_tables/HASH.json``, see
``selfplay.distribution.policy_folders``). For settings without a table ``selfplay rate RUN --calibrate`` rates the
scripted players by a round robin and writes the table to the run's folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, Protocol, Self

from pydantic import BaseModel, Field, JsonValue, ValidationError, model_validator

from selfplay.distribution import policy_folders
from selfplay.errors import LeagueError, boundary, first_problem
from selfplay.games.files import MAX_TEXT_BYTES, parse_json, read_plain
from selfplay.league.games import GameTable
from selfplay.league.ratings import Ratings, rate
from selfplay.league.records import ANCHOR, check_player, generation_number

FILE_NAME: Final = "anchors.json"  # name of a run's own table

Origin = Literal["shipped", "run"]


class AnchorTable(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Ratings of scripted players and shipped policies under one set of settings."""

    format: Literal[1] = 1
    settings: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]  # hash of ``described``
    described: dict[str, JsonValue]  # conditions of the games, versions of rules and players
    rating: dict[str, float]
    se: dict[str, Annotated[float, Field(ge=0)]]  # standard errors, against ``random``
    games: Annotated[int, Field(ge=1)]  # all that were played
    seed: Annotated[int, Field(ge=0)]
    date: str = ""
    processor: str = ""
    policies: dict[str, str] = {}  # hash of the weights of each

    @model_validator(mode="after")
    def _of_scripted_players(self) -> Self:
        if ANCHOR not in self.rating:
            raise ValueError(f"{ANCHOR!r} is missing")
        if self.rating.keys() != self.se.keys():
            raise ValueError("ratings and standard errors list different players")
        if not self.policies.keys() <= self.rating.keys():
            raise ValueError("a policy has no rating")
        for name in self.rating:
            if generation_number(check_player(name)) is not None:
                raise ValueError(f"{name!r} is a generation of a run")
        return self

    def pinned(self, games: GameTable) -> dict[str, float]:
        """Ratings of all players of the table, and of generations in ``games`` that have the weights of one of them."""
        known = {weights: self.rating[name] for name, weights in self.policies.items()}
        generations = {n: w for n, w in games.weights.items() if w in known and generation_number(n) is not None}
        return {**self.rating, **{name: known[weights] for name, weights in generations.items()}}

    def by_strength(self) -> tuple[str, ...]:
        """All players, the weakest first."""
        return tuple(sorted(self.rating, key=lambda name: self.rating[name]))


def read_table(path: Path) -> AnchorTable:
    """Read and validate a table; LeagueError if the file is missing or invalid."""
    with boundary(LeagueError, f"cannot read the anchors {path}"):
        document = parse_json(read_plain(path, MAX_TEXT_BYTES))
    try:
        return AnchorTable.model_validate(document)
    except ValidationError as error:
        raise LeagueError(f"{path}: {first_problem(error, 'file')}") from error


def shipped_tables() -> list[Path]:
    """Files of all tables that come with games."""
    return [table for folder in policy_folders() for table in sorted((folder / "anchor_tables").glob("*.json"))]


def find_table(settings: str, run: Path | None = None) -> tuple[AnchorTable, Origin] | None:
    """The table for a settings hash: the shipped one, else the run's own, else None."""
    for table in shipped_tables():
        if table.stem == settings:
            return read_table(table), "shipped"
    own = None if run is None else own_table(run)
    return (own, "run") if own is not None and own.settings == settings else None


def own_table(run: Path) -> AnchorTable | None:
    """The table of a run's own; LeagueError if it cannot be read."""
    return read_table(run / FILE_NAME) if (run / FILE_NAME).is_file() else None


class RatingConditions(Protocol):
    """What determines which games are rated together, and how many games a pair plays."""

    @property
    def described(self) -> dict[str, JsonValue]: ...  # everything that makes games comparable

    @property
    def settings(self) -> str: ...  # hash of it

    @property
    def group(self) -> str: ...  # the same with how actions are drawn, as in ``GameTable.groups``

    @property
    def games_each(self) -> int: ...  # games of a matchup

    @property
    def anchors(self) -> tuple[str, ...]: ...  # players that are rated in addition to the generations

    @property
    def seed(self) -> int: ...


def comparable(
    games: GameTable, conditions: RatingConditions, found: tuple[AnchorTable, Origin] | None, keep: Sequence[str] = ()
) -> GameTable:
    """The games that are rated under these conditions; of a policy in the table only those of its pinned weights."""
    if conditions.group not in games.groups:
        return GameTable.of([])
    return games.comparable(conditions.group, keep, None if found is None else found[0].policies).games


def ratings_of(
    games: GameTable, conditions: RatingConditions, players: Sequence[str], run: Path | None = None
) -> Ratings:
    """Ratings under these conditions; ``players`` are part of them even without games."""
    found = find_table(conditions.settings, run)
    chosen = comparable(games, conditions, found, players)
    return rate(chosen, players=players, anchors=None if found is None else found[0].pinned(chosen))


def strengths(games: GameTable, conditions: RatingConditions, run: Path | None = None) -> dict[str, float]:
    """Ratings of all players with games."""
    ratings = ratings_of(games, conditions, (), run)
    return {name: float(ratings.rating[i]) for i, name in enumerate(ratings.players) if ratings.games[i]}


def highest(strengths: Mapping[str, float]) -> str | None:
    """The strongest generation, the newer of equals; None without any."""
    return max(strengths, key=lambda name: (strengths[name], generation_number(name) or 0), default=None)
