"""What the JSON documents of a checkpoint hold, and how old ones are brought up to date.

A document carries ``format_version``. The version that this code writes is one more than the number of migrations;
migration i turns version i + 1 into version i + 2, so the table cannot have gaps. A newer version is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Final, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from selfplay.checkpoint.documents import JsonObject, Model, parse, refuse_newer
from selfplay.errors import IncompatibleError

Migration = Callable[[JsonObject], JsonObject]
POLICY_MIGRATIONS: Final[tuple[Migration, ...]] = ()
LEARNER_MIGRATIONS: Final[tuple[Migration, ...]] = ()

GENERATION_ID: Final = re.compile(r"gen_(0|[1-9][0-9]{0,11})")
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Width = Annotated[int, Field(ge=1, le=2**20)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Scalar = bool | int | float | str


class _Document(BaseModel):
    """Frozen, and without fields that nobody declared."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class NetworkSpec(_Document):
    """The structure of a network: enough to build it again before its weights are loaded."""

    kind: Name = "mlp"
    obs_width: Width
    hidden: Annotated[tuple[Width, ...], Field(max_length=64)] = (128, 128)
    activation: Name = "tanh"
    options: dict[Name, Scalar] = Field(default={}, max_length=64, description="what other kinds need")


class ActionHeads(_Document):
    """The heads of one action: ``binary`` buttons, then one categorical per entry of ``sizes``."""

    binary: Annotated[int, Field(ge=0, le=1024)]
    sizes: Annotated[tuple[Width, ...], Field(max_length=1024)]


class PolicyMeta(_Document):
    """What ``policy.json`` says about a frozen policy.

    ``iteration`` and ``total_steps`` are where in training it was taken, ``frame_skip`` and ``delay`` are in frames.
    The first of ``characters`` is its own, the last its opponent's. ``weights_hash`` is filled in on saving; ``config``
    is the training configuration, so that a policy folder that was copied elsewhere still tells how it was made.
    """

    id: Name
    parent: Name | None = None
    iteration: Count = 0
    total_steps: Count = 0
    weights_hash: Sha256 | None = None
    network: NetworkSpec
    actions: ActionHeads
    encoder_version: Count
    frame_skip: Annotated[int, Field(ge=1, le=3600)]
    delay: Annotated[int, Field(ge=0, le=3600)]
    characters: Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]
    stage: Name
    created: AwareDatetime
    config: dict[str, JsonValue] = {}

    @model_validator(mode="after")
    def _generation_is_named_after_its_iteration(self) -> Self:
        match = GENERATION_ID.fullmatch(self.id)
        if match and int(match[1]) != self.iteration:
            raise ValueError(f"{self.id} must be of iteration {match[1]}, not {self.iteration}")
        return self


class LearnerMeta(_Document):
    """What ``learner.json`` says: everything that training continues from, but for the arrays beside it.

    ``elapsed_s`` is the training time of all sessions of the run. ``ledger_position`` counts the matches of the
    ledger that belong to this state. ``rng`` holds the states of the random generators by name, ``opponents`` the
    opponents in play by runner id, ``extra`` what else the trainer wants back.
    """

    iteration: Count
    total_steps: Count
    elapsed_s: Annotated[float, Field(ge=0)]
    created: AwareDatetime
    config: dict[str, JsonValue] = {}
    rng: dict[str, JsonValue] = {}
    matchmaker: dict[str, JsonValue] = {}
    opponents: dict[str, JsonValue] = {}
    ledger_position: Count = 0
    generations: tuple[Name, ...] = ()
    extra: dict[str, JsonValue] = {}


def to_document(meta: BaseModel, migrations: Sequence[Migration]) -> JsonObject:
    """The model as a JSON object of the current version."""
    return {"format_version": len(migrations) + 1, **meta.model_dump(mode="json")}


def from_document(model: type[Model], document: JsonObject, migrations: Sequence[Migration], what: str) -> Model:
    """The model in a document of this or an older version.

    Raises:
        IncompatibleError: no version, a newer one, or a field that is missing, unknown or out of range.
    """
    document = dict(document)
    version = document.pop("format_version", None)
    newest = len(migrations) + 1
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise IncompatibleError(f"{what}: format_version is {version!r}, a whole number from 1 is needed")
    refuse_newer(version, newest, what)
    for migrate in migrations[version - 1 :]:
        document = migrate(document)
    return parse(model, document, what, IncompatibleError)
