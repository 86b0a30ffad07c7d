"""JSON documents as bytes: strict both ways, with limits on what is read."""

from __future__ import annotations

import json
from typing import Final, TypeVar, cast

from pydantic import BaseModel, JsonValue, ValidationError

from envs.files import MAX_TEXT_BYTES, parse_json
from selfplay.errors import CheckpointError, CorruptError, IncompatibleError, boundary

JsonObject = dict[str, JsonValue]
Model = TypeVar("Model", bound=BaseModel)

MAX_JSON_BYTES: Final = MAX_TEXT_BYTES


def encode_json(document: JsonObject, what: str) -> bytes:
    """The document as UTF-8 with a final newline; NaN and infinity are refused, since JSON has no word for them."""
    with boundary(CheckpointError, f"cannot write {what} as JSON"):
        return (json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


def decode_json(data: bytes, what: str) -> JsonObject:
    """The object in ``data``.

    Raises:
        CorruptError: larger than MAX_JSON_BYTES, not UTF-8, not JSON, nested too deeply, with a key twice, with
            NaN or infinity, or not an object.
    """
    if len(data) > MAX_JSON_BYTES:
        raise CorruptError(f"{what}: {len(data)} bytes of JSON, the limit is {MAX_JSON_BYTES}")
    with boundary(CorruptError, f"{what} is not a JSON document"):
        document = parse_json(data)
    if not isinstance(document, dict):
        raise CorruptError(f"{what}: a JSON object is needed, not {type(document).__name__}")
    return cast("JsonObject", document)


def refuse_newer(version: object, newest: int, what: str) -> None:
    """IncompatibleError where a document says that it is of a later format than ``newest``."""
    if isinstance(version, int) and not isinstance(version, bool) and version > newest:
        raise IncompatibleError(
            f"{what}: written by a newer selfplay (format {version}; this one reads up to {newest}); update it"
        )


def parse(model: type[Model], document: JsonValue, what: str, kind: type[CheckpointError]) -> Model:
    """The document as ``model``; else an error of ``kind`` that names the field and its fault."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise kind(f"{what}: {field + ': ' if field else ''}{first['msg']}{more}") from error
