"""Settings that imitation has in fights, beside those of any game."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

from pydantic import Field, field_validator, model_validator

from selfplay.config.base import Changeable
from selfplay.config.options import flags, options
from selfplay.config.program import Program
from selfplay.config.programs import check_own_code
from selfplay.config.words import check_name
from selfplay.imitation.settings import EXAMPLE, PRESETS, DataConfig, ImitationConfig, LearnConfig, sections
from selfplay_melee.limits import MAX_DELAY
from selfplay_melee.short_names import full_name
from selfplay_melee.tables import check_readable, names_of


class FightDataConfig(DataConfig):
    """The replays to learn from."""

    replays: Changeable[str | None] = Field(None, description="Folder of .slp files; subfolders are searched")
    player: str | None = Field(
        None, description="Use only the player with this port, name or code; a port is 1 to 4, a code a connect code"
    )
    max_files: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Maximum number of games; the first usable ones by name"
    )
    character: tuple[str, ...] = Field((), description="Use only players with these characters")
    frame_skip: Annotated[int, Field(ge=1, le=30)] = Field(4, description="Frames between two decisions")
    delay: Annotated[int, Field(ge=0, le=MAX_DELAY)] = Field(0, description="Frames between seeing and acting")
    cache: Changeable[str | None] = Field(
        None, description="Cache folder for parsed replays; by default in --checkpoint"
    )
    cache_gb: Changeable[Annotated[float, Field(gt=0)]] = Field(
        20.0, description="Size limit of the cache in gigabytes"
    )
    no_cache: Changeable[bool] = Field(False, description="Parse the replays again in every pass")

    @field_validator("character")
    @classmethod
    def _full(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(full_name, names))

    @model_validator(mode="after")
    def _agree(self) -> FightDataConfig:
        if self.no_cache and self.cache is not None:
            raise ValueError("--no-cache and --cache exclude each other")
        return self


class FightLearnConfig(LearnConfig):
    """Optimization, with the weight of presses."""

    button_power: Annotated[float, Field(ge=0, le=1)] = Field(
        0.5,
        description="Power of the weight of a press; it is ((1 - r) / r) to this power, "
        "r being how often the button is pressed",
    )
    button_limit: Annotated[float, Field(ge=1)] = Field(20.0, description="Weight of a press at most")


class FightImitationConfig(ImitationConfig):
    """All settings of a training in fights."""

    data: FightDataConfig = FightDataConfig()
    learn: FightLearnConfig = FightLearnConfig()


def _check(config: FightImitationConfig) -> None:
    for name in config.data.character:
        check_readable(name)
        check_name("--character", name, names_of("characters"))


PROGRAM: Final = Program(
    settings=FightImitationConfig,
    options=options(
        FightImitationConfig,
        sections(
            flags("data", character="NAME,NAME", frame_skip="N", delay="N", cache="DIR", no_cache=""),
            flags("learn", button_power="F"),
        ),
    ),
    presets=PRESETS,
    example=EXAMPLE,
    imply=partial(check_own_code, game="data.game"),
    check=_check,
)
