"""Every setting of ``selfplay imitate``, validated; layers of values as in ``selfplay.config``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field, field_validator, model_serializer, model_validator

from selfplay.config.base import Changeable, Group, Minutes, Natural, Positive, RunSettings, StructureConfig
from selfplay.config.options import flags, options
from selfplay.games.rated import MAX_DELAY
from selfplay.games.registry import find_game
from selfplay_melee.short_names import full_name

if TYPE_CHECKING:
    from pydantic import SerializationInfo, SerializerFunctionWrapHandler

NEAR_ENOUGH: Final = 0.01  # relative difference of --val-split and the part that is meant


class DataConfig(Group):
    """The recorded games to learn from."""

    game: str = Field(
        "mock",
        description="`mock`, or a game that is no fight; for a folder of .slp files, or a file of recorded games",
    )
    replays: Changeable[str | None] = Field(
        None, description="Folder of .slp files, or a file of recorded games; subfolders are searched"
    )
    character: tuple[str, ...] = Field((), description="Use only players with these characters")
    player: str | None = Field(
        None, description="Use only the player with this port, name or code; a port is 1 to 4, a code a connect code"
    )
    max_files: Positive | None = Field(None, description="Maximum number of games; the first usable ones by name")
    frame_skip: Annotated[int, Field(ge=1, le=30)] = Field(4, description="Frames between two decisions")
    delay: Annotated[int, Field(ge=0, le=MAX_DELAY)] = Field(0, description="Frames between seeing and acting")
    val_split: Annotated[float, Field(gt=0, le=0.5)] = Field(0.1, description="Share of the games for validation")
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

    @field_validator("val_split")
    @classmethod
    def _is_one_part(cls, share: float) -> float:
        """Games are dealt into equal parts, of which one is kept apart; three digits of 1/3 are near enough."""
        if abs(share * round(1 / share) - 1) > NEAR_ENOUGH:
            more = int(1 / share)
            raise ValueError(
                f"not one part in a whole number of them; near it are {1 / more:.3g} and {1 / (more + 1):.3g}"
            )
        return share


class NetworkConfig(StructureConfig):
    """Structure of the policy network."""

    window: Annotated[int, Field(ge=2, le=1024)] = Field(
        60, description="Decisions of a training window, and of the context of `attention`"
    )


class LearnConfig(Group):
    """Optimization: epochs, minibatches, learning rate and loss."""

    epochs: Changeable[Positive] = Field(10, description="Passes over the games")
    batch_size: Positive = Field(1024, description="Decisions of a minibatch")
    learning_rate: Annotated[float, Field(gt=0, le=1)] = Field(1e-3, description="Learning rate of Adam at the start")
    final_rate: Annotated[float, Field(gt=0, le=1)] = Field(
        0.1, description="Share of the learning rate at the end, along a cosine; 1 = constant"
    )
    max_grad_norm: Annotated[float, Field(gt=0)] = Field(1.0, description="Clip of the gradient's norm")
    temporal: bool = Field(
        False,
        description="Train on windows of consecutive decisions; implied by recurrent backbones. "
        "`mlp` still sees one frame at a time",
    )
    button_power: Annotated[float, Field(ge=0, le=1)] = Field(
        0.5,
        description="Power of the weight of a press; it is ((1 - r) / r) to this power, "
        "r being how often the button is pressed",
    )
    button_limit: Annotated[float, Field(ge=1)] = Field(20.0, description="Weight of a press at most")
    change_weight: Annotated[float, Field(ge=1)] = Field(
        1.0, description="Weight of changes; that is, of classes that differ from the previous controller"
    )
    patience: Changeable[Natural] = Field(
        5, description="Stop after N epochs without a better loss; that of validation counts; 0 = never"
    )
    min_delta: Changeable[Annotated[float, Field(ge=0)]] = Field(
        0.0, description="Minimum improvement of the loss per decision, in nats"
    )


class ImitationRunConfig(RunSettings):
    """Folder, time limits and threads of a training."""

    checkpoint: Changeable[str] = Field(
        "checkpoints", description="Folder for the policies; and for the training's own folder"
    )
    max_minutes: Changeable[Minutes | None] = Field(None, description="Time limit in minutes")
    save_minutes: Changeable[Minutes] = Field(10.0, description="Minutes between states within an epoch")
    threads: Changeable[Natural] = Field(0, description="Threads of the update; 0 = by cores")


FIGHTS = (
    "data.character", "data.frame_skip", "data.delay", "data.cache", "data.cache_gb", "data.no_cache",
    "learn.button_power", "learn.button_limit",
)  # fmt: skip
"""Settings of fights."""


class ImitationConfig(Group):
    """All settings of a training."""

    data: DataConfig = DataConfig()
    net: NetworkConfig = NetworkConfig()
    learn: LearnConfig = LearnConfig()
    run: ImitationRunConfig = ImitationRunConfig()

    @property
    def temporal(self) -> bool:
        """True if training uses windows of consecutive decisions: as set, or implied by a recurrent backbone."""
        return self.learn.temporal or self.net.remembers

    @property
    def lanes(self) -> int:
        """Windows of a minibatch."""
        return max(1, self.learn.batch_size // self.net.window)

    @property
    def folds(self) -> int:
        """One of so many equal parts of the games is kept apart."""
        return round(1 / self.data.val_split)

    @model_serializer(mode="wrap")
    def _saved(self, dump: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        """In JSON, as a training and its policies keep it, it has the settings of its game alone."""
        values: dict[str, Any] = dump(self)
        if info.mode == "json" and not find_game(self.data.game).fighter:
            for path in FIGHTS:
                group, _, name = path.partition(".")
                del values[group][name]
        return values

    @model_validator(mode="after")
    def _agree(self) -> ImitationConfig:
        if self.data.no_cache and self.data.cache is not None:
            raise ValueError("--no-cache and --cache exclude each other")
        return self


OPTIONS: Final = options(
    ImitationConfig,
    {
        "Replays": (
            ("--game-type", "data.game", "NAME"),
            *flags("data", replays="DIR", character="NAME,NAME", player="NAME", max_files="N", frame_skip="N"),
            *flags("data", delay="N", val_split="F", cache="DIR", no_cache=""),
        ),
        "Network": (
            *flags("net", backbone="NAME", hidden="N,N"),
            *flags("learn", temporal=""),
        ),
        "Learning": (
            *flags("learn", epochs="N", batch_size="N", learning_rate="F", button_power="F", change_weight="F"),
            *flags("learn", patience="N"),
        ),
        "Run": flags("run", checkpoint="DIR", seed="N", max_minutes="F", device="NAME"),
    },
)
