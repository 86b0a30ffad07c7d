"""Strict JSON encoding and decoding, with size limits."""

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
    """Encode as UTF-8 with a final newline; CheckpointError for NaN and infinity.

    What is not UTF-8 in a path becomes an escape, from which ``decode_json`` makes the same path. Other surrogates are
    refused.
    """
    with boundary(CheckpointError, f"cannot write {what} as JSON"):
        text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
        text.encode("utf-8", "surrogateescape")
        return text.encode("utf-8", "backslashreplace")


def decode_json(data: bytes, what: str) -> JsonObject:
    """Decode a JSON object.

    Raises:
        CorruptError: larger than MAX_JSON_BYTES, invalid or too deeply nested JSON, duplicate keys, NaN or infinity,
            or not an object.
    """
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
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise kind(f"{what}: {field + ': ' if field else ''}{first['msg']}{more}") from error
