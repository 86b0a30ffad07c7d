"""The file of a sweep: what is valid in it, and what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator

from selfplay.config.base import Group, Minutes, Positive
from selfplay.config.program import read_toml
from selfplay.config.words import unknown_name
from selfplay.errors import ConfigError, first_problem

Samples = Annotated[int, Field(ge=1, le=10_000)]
By = Literal["exact", "opponents", "games"]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


class Grid(Group):
    """All combinations of the listed values."""

    name: Literal["grid"] = "grid"


class RandomSearch(Group):
    """Settings drawn at random."""

    name: Literal["random"]
    samples: Samples
    seed: Seed = 0


class Halving(Group):
    """Successive halving: all settings begin short; the best share of each rung is trained ``reduction`` times longer.

    Without ``samples`` it begins with all combinations of the listed values.
    """

    name: Literal["halving"]
    samples: Samples | None = None
    seed: Seed = 0
    reduction: Annotated[int, Field(ge=2, le=16)] = 3
    rungs: Annotated[int, Field(ge=2, le=8)] = 3


class OptunaSearch(Group):
    """Settings that Optuna's TPE sampler proposes, ``batch`` at a time, from the strengths of those before."""

    name: Literal["optuna"]
    samples: Samples
    seed: Seed = 0
    batch: Annotated[int, Field(ge=1, le=256)] = 4


def _by_name(value: object, key: str) -> object:
    return {key: value} if isinstance(value, str) else value


class Judge(Group):
    """How the last policy of a cell is measured; without ``by`` exactly where that is possible, else by opponents."""

    by: By | None = None
    games: Annotated[int, Field(ge=2, le=1_000_000)] = 400  # of each cell
    opponents: tuple[str, ...] = ()  # scripted players and policies; none: the game's scripted players
    seed: Seed = 0


Method = Annotated[
    Grid | RandomSearch | Halving | OptunaSearch,
    Field(discriminator="name"),
    BeforeValidator(lambda value: _by_name(value, "name")),
]


class SweepSettings(Group):
    """The file."""

    game_type: str
    preset: str = "none"
    timesteps: Positive | None = None
    minutes: Minutes | None = None
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=1000)]
    settings: dict[str, Any]
    method: Method = Grid()
    judge: Annotated[Judge, BeforeValidator(lambda value: _by_name(value, "by"))] = Judge()

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if (self.timesteps is None) == (self.minutes is None):
            raise ValueError("either timesteps or minutes is needed: the length of each run")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: one is there twice")
        return self


_TABLES: Final[Mapping[tuple[str, ...], type[BaseModel]]] = {
    (): SweepSettings,
    ("judge",): Judge,
    ("method", "grid"): Grid,
    ("method", "random"): RandomSearch,
    ("method", "halving"): Halving,
    ("method", "optuna"): OptunaSearch,
}


def read_sweep(path: Path) -> SweepSettings:
    """The settings in a file; ConfigError says in one line what is wrong in it, and what is valid."""
    document = read_toml(path, str(path))
    try:
        return SweepSettings.model_validate(document)
    except ValidationError as error:
        raise ConfigError(f"{path}: {_problem(error)}") from error


def _problem(error: ValidationError) -> str:
    problems = error.errors(include_url=False)
    for problem in sorted(problems, key=lambda each: each["type"] != "extra_forbidden"):  # why another one is missing
        *table, name = map(str, problem["loc"] or ("",))
        if problem["type"] == "extra_forbidden" and (model := _TABLES.get(tuple(table))) is not None:
            return unknown_name("key", ".".join([*table[:1], name]), [*model.model_fields])
        if problem["type"] == "missing":
            return f"{'.'.join([*table, name])} is missing"
        if problem["type"].startswith("union_tag"):
            tag = str(problem.get("ctx", {}).get("tag", "none"))
            return unknown_name("method", tag, [key[1] for key in _TABLES if key[:1] == ("method",)])
    return first_problem(error).replace("Value error, ", "")
