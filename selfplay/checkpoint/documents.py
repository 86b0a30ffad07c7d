"""The JSON documents of a checkpoint: strict encoding and decoding with size limits, and schemas."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Final, Self, TypeVar, cast

from pydantic import AwareDatetime, BaseModel, Field, JsonValue, StringConstraints, ValidationError, model_validator

from selfplay.errors import CheckpointError, CorruptError, IncompatibleError, boundary, first_problem
from selfplay.games.files import MAX_TEXT_BYTES, parse_json

JsonObject = dict[str, JsonValue]
Model = TypeVar("Model", bound=BaseModel)

MAX_JSON_BYTES: Final = MAX_TEXT_BYTES

FORMAT_VERSION: Final = 1
"""``format_version`` of the documents; others are refused."""

GENERATION_ID: Final = re.compile(r"gen_(0|[1-9][0-9]{0,11})")
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Width = Annotated[int, Field(ge=1, le=2**20)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Scalar = bool | int | float | str


class _Document(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Frozen; unknown fields are errors."""


class NetworkSpec(_Document):
    """The structure of a network, from which it can be rebuilt."""

    kind: Name = "mlp"
    obs_width: Width
    hidden: Annotated[tuple[Width, ...], Field(max_length=64)] = (128, 128)
    activation: Name = "tanh"
    options: dict[Name, Scalar] = Field(default={}, max_length=64, description="settings of other kinds")


class ActionHeads(_Document):
    """The heads of one action: ``binary`` buttons, then one categorical per entry of ``sizes``."""

    binary: Annotated[int, Field(ge=0, le=1024)]
    sizes: Annotated[tuple[Width, ...], Field(max_length=1024)]


class PolicyMeta(_Document):
    """Content of ``policy.json``.

    ``iteration`` and ``total_steps`` are the position in training. ``game`` is the name of the game, ``body`` what the
    game keeps of its settings, see ``GameKind.body``. ``weights_hash`` is set on saving. ``config`` is the training
    configuration.
    """

    id: Name
    parent: Name | None = None
    iteration: Count = 0
    total_steps: Count = 0
    weights_hash: Sha256 | None = None
    network: NetworkSpec
    actions: ActionHeads
    encoder_version: Count
    game: Annotated[str, Field(min_length=1, max_length=300)]
    body: dict[Name, Scalar | None] = Field(default={}, max_length=64)
    created: AwareDatetime
    config: dict[str, JsonValue] = {}

    @model_validator(mode="after")
    def _generation_is_named_after_its_iteration(self) -> Self:
        match = GENERATION_ID.fullmatch(self.id)
        if match and int(match[1]) != self.iteration:
            raise ValueError(f"{self.id} must be of iteration {match[1]}, not {self.iteration}")
        return self


class LearnerMeta(_Document):
    """Content of ``learner.json``: the state of training without arrays.

    ``elapsed_s`` is the training time over all sessions. ``ledger_position`` counts the ledger rows at this state.
    ``rng`` has the states of random generators by name, ``opponents`` the current opponents by runner id, ``extra``
    other data of the trainer.
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


def to_document(meta: BaseModel) -> JsonObject:
    """Convert to a JSON object."""
    return {"format_version": FORMAT_VERSION, **meta.model_dump(mode="json")}


def encode_meta(meta: BaseModel, path: Path) -> bytes:
    """The content of the file ``path``."""
    return encode_json(to_document(meta), str(path))


def from_document(model: type[Model], document: JsonObject, what: str) -> Model:
    """Load a document; IncompatibleError for a missing or other version, or an invalid field."""
    document = dict(document)
    version = document.pop("format_version", None)
    refuse_newer(version, FORMAT_VERSION, what)
    if type(version) is not int or version != FORMAT_VERSION:
        raise IncompatibleError(f"{what}: format_version is {version!r}, valid: {FORMAT_VERSION}")
    return parse(model, document, what, IncompatibleError)


def encode_json(document: JsonObject, what: str) -> bytes:
    """Encode as UTF-8 with a final newline; CheckpointError for NaN and infinity.

    What is not UTF-8 in a path becomes an escape, from which ``decode_json`` makes the same path. Other surrogates are
    refused.
    """
    with boundary(CheckpointError, f"cannot write {what} as JSON"):
        text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
        text.encode("utf-8", "surrogateescape")
        return text.encode("utf-8", "backslashreplace")


def decode_json(data: bytes, what: str) -> JsonObject:
    """Decode a JSON object; CorruptError for what ``parse_json`` refuses, too many bytes, or no object."""
    if len(data) > MAX_JSON_BYTES:
        raise CorruptError(f"{what}: {len(data)} bytes of JSON, the limit is {MAX_JSON_BYTES}")
    with boundary(CorruptError, f"{what} is not a JSON document"):
        document = parse_json(data)
    if not isinstance(document, dict):
        raise CorruptError(f"{what}: expected a JSON object, not {type(document).__name__}")
    return cast("JsonObject", document)


def refuse_newer(version: object, newest: int, what: str) -> None:
    """Raise IncompatibleError if ``version`` is newer than ``newest``."""
    if isinstance(version, int) and not isinstance(version, bool) and version > newest:
        raise IncompatibleError(
            f"{what}: written by a newer selfplay (format {version}; this one reads up to {newest}); update it"
        )


def parse(model: type[Model], document: JsonValue, what: str, kind: type[CheckpointError]) -> Model:
    """Validate a document; errors of type ``kind`` name the field."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise kind(f"{what}: {first_problem(error)}") from error
