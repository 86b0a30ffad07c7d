"""Settings of ``selfplay imitate`` in any game, validated, and their presets; layers as in ``selfplay.config``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field, field_validator

from selfplay.config.base import Changeable, Group, Minutes, Natural, Positive, RunSettings, StructureConfig
from selfplay.config.options import flags, options
from selfplay.config.program import Program
from selfplay.config.programs import check_own_code
from selfplay.games.registry import DEFAULT

if TYPE_CHECKING:
    from selfplay.config.options import Flag
    from selfplay.config.presets import Presets

NEAR_ENOUGH: Final = 0.01  # relative difference of --val-split and the part that is meant


class DataConfig(Group):
    """The recorded games to learn from."""

    game: str = Field(DEFAULT, description="Game that was recorded")
    replays: Changeable[str | None] = Field(None, description="File of recorded games")
    player: str | None = Field(None, description="Use only the player of this name; or of seat 1 or 2")
    max_files: Positive | None = Field(None, description="Maximum number of games; the first usable ones")
    val_split: Annotated[float, Field(gt=0, le=0.5)] = Field(0.1, description="Share of the games for validation")

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
        "`mlp` still sees one observation at a time",
    )
    change_weight: Annotated[float, Field(ge=1)] = Field(
        1.0, description="Weight of changes; that is, of classes that differ from the previous action"
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


def sections(data: Sequence[Flag] = (), learn: Sequence[Flag] = ()) -> dict[str, Sequence[Flag]]:
    """The flags, by section of the help, with those that a game has beside them."""
    return {
        "Replays": (
            ("--game-type", "data.game", "NAME"),
            *flags("data", replays="PATH", player="NAME", max_files="N", val_split="F"),
            *data,
        ),
        "Network": (*flags("net", backbone="NAME", hidden="N,N"), *flags("learn", temporal="")),
        "Learning": (
            *flags("learn", epochs="N", batch_size="N", learning_rate="F", change_weight="F", patience="N"),
            *learn,
        ),
        "Run": flags("run", checkpoint="DIR", seed="N", max_minutes="F", device="NAME"),
    }


OPTIONS: Final = options(ImitationConfig, sections())
PRESETS: Final[Presets] = {
    "quick": {"data": {"max_files": 5}, "net": {"hidden": (32, 32)}, "learn": {"epochs": 2, "batch_size": 256}},
    "full_cpu": {"net": {"hidden": (256, 256)}, "learn": {"epochs": 15, "batch_size": 1024}},
    "gpu_standard": {
        "net": {"backbone": "gru", "hidden": (256, 256, 256)},
        "learn": {"epochs": 20, "batch_size": 8192, "temporal": True},
        "run": {"device": "cuda"},
    },
    "production": {
        "net": {"backbone": "mamba", "hidden": (512, 512, 512, 512)},
        "learn": {"epochs": 50, "batch_size": 16384, "learning_rate": 5e-4, "temporal": True, "patience": 8},
        "run": {"device": "auto"},
    },
}
EXAMPLE: Final = ("learn.epochs", "20")

IMITATION: Final = Program(
    settings=ImitationConfig,
    options=OPTIONS,
    presets=PRESETS,
    example=EXAMPLE,
    imply=partial(check_own_code, game="data.game"),
    check=lambda _: None,
)
