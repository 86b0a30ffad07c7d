"""Settings shared by all trainers: groups, marks of fields, and the settings of a run."""

from __future__ import annotations

from enum import Enum, auto
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import BaseModel, Field, field_validator

from selfplay.checkpoint import NetworkSpec
from selfplay.games.plugins import is_code
from selfplay.report.trackers.find import FILES

MOST: Final = 2**53
"""Above it no float holds every whole number, and products of settings would overflow."""
Positive = Annotated[int, Field(ge=1, le=MOST)]
Natural = Annotated[int, Field(ge=0, le=MOST)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]
Layer = Annotated[int, Field(ge=1, le=8192)]
Minutes = Annotated[float, Field(gt=0)]


class Mark(Enum):
    """Property of a setting, given in the annotation of its field: ``Changeable[int]``."""

    MAY_CHANGE = auto()  # in a run that is resumed; all others keep the value of the run
    STARTS_PROGRAM = auto()  # starts a program or asks a server: a resumed run needs it named again
    JOINS_CLUSTER = auto()  # hands a token and work to a cluster: named again for the same reason


T = TypeVar("T")
Changeable = Annotated[T, Mark.MAY_CHANGE]


PARTIAL: Final = "partial"
"""Validation context of the changes to a run: settings are not checked against each other before they are merged."""


class Group(BaseModel, extra="forbid", frozen=True, allow_inf_nan=False):
    """Settings that belong together; also the root, whose fields are such groups."""

    marks: ClassVar[frozenset[Mark]] = frozenset()  # marks of all fields of the group


class RunSettings(Group):
    """Folder, seed, time limit and device of a run."""

    checkpoint: Changeable[str] = Field(description="Folder of the run")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(0, description="Random seed")
    max_minutes: Changeable[Minutes | None] = Field(None, description="Total minutes of the run")
    device: Changeable[str] = Field("cpu", description="`cpu`, `cuda`, `cuda:N` or `auto`")
    threads: Changeable[Natural] = Field(0, description="Threads of the update; 0 = one a core, 4 at most")


class SelfPlaySettings(RunSettings):
    """Settings of a run of self-play."""

    checkpoint: Changeable[str] = Field("checkpoints/self_play", description="Folder of the run")
    timesteps: Changeable[Positive | None] = None
    num_games: Positive
    save_interval: Changeable[Positive] = Field(10, description="Iterations between generations; each is a checkpoint")
    keep_checkpoints: Changeable[Positive] = Field(2, description="Number of newest states to keep for --resume")
    keep_every: Changeable[Natural] = Field(
        0, description="Keep the first state of every N iterations permanently; 0 = none"
    )
    keep_best: Changeable[bool] = Field(
        False, description="Keep the best generation, by gate or rating, and its state; needs --track-elo"
    )
    host: Changeable[Literal["auto", "thread", "process", "ray"]] = "thread"
    ray_address: Annotated[str | None, Mark.MAY_CHANGE, Mark.JOINS_CLUSTER] = Field(
        None,
        description="Cluster of --host ray: `auto` or `HOST:PORT`; by default a temporary one on this machine",
    )
    runners: Natural = 0
    chaos: Changeable[str | None] = None
    report_to: Changeable[tuple[str, ...]] = Field(
        FILES,
        description="Where figures go; `tensorboard`, `jsonl` (metrics.jsonl), `wandb`, `trackio`, or your own tracker "
        "as `module:Name`; `none` for nowhere",
    )

    @field_validator("report_to", mode="before")
    @classmethod
    def _nowhere(cls, value: Any) -> Any:  # noqa: ANN401
        return () if value in (("none",), "none") else value


OwnNetwork = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]
"""``module:attribute`` of a network of the user's own."""


class StructureConfig(Group):
    """Structure of the policy network."""

    backbone: Literal["mlp", "gru", "lstm", "mamba", "attention"] | OwnNetwork = Field(
        "mlp",
        description="`mlp`, `gru`, `lstm`, `mamba`, `attention`; `mlp` sees the current observation only, the others "
        "have memory; `module:name` is your own (docs/trainer/api.md)",
    )
    hidden: tuple[Layer, ...] = Field(
        (128, 128),
        max_length=64,
        description="Widths of the layers; with memory a dense one, then recurrent ones, all of equal width",
    )
    window: Annotated[int, Field(ge=2, le=1024)] = Field(60, description="Context of `attention`, in decisions")
    activation: Literal["tanh", "relu", "silu"] = Field("tanh", description="Activation")

    @property
    def is_own(self) -> bool:
        """True if the layers are built by the user's code."""
        return is_code(self.backbone)

    @property
    def remembers(self) -> bool:
        return self.backbone != "mlp" and not self.is_own

    def spec(self, obs_width: int) -> NetworkSpec:
        """The network of these settings."""
        if self.is_own:
            return NetworkSpec(kind=self.backbone, obs_width=obs_width, hidden=())
        return NetworkSpec(
            kind=self.backbone, obs_width=obs_width, hidden=self.hidden, activation=self.activation,
            options={"window": self.window} if self.backbone == "attention" else {},
        )  # fmt: skip


class GuardConfig(Group):
    """Limits for what supervision cannot restart: a thread cannot be killed."""

    marks = frozenset({Mark.MAY_CHANGE})

    loop_timeout: Annotated[float, Field(ge=0)] = Field(
        60.0, description="Seconds after which a blocked event loop ends the run; 0 = never"
    )
    max_abandoned: Natural = Field(
        16, description="Maximum number of hanging threads and children; with more the run saves and ends"
    )
