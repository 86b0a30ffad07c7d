"""Settings of a game by name, from a user or a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from envs.errors import GameError, UnknownNameError

Rules = TypeVar("Rules", bound=Any)


def changed(game: str, rules: Rules, settings: Mapping[str, Any]) -> Rules:
    """The rules of a game, a frozen dataclass, with some settings replaced.

    Raises:
        UnknownNameError: there is no such setting.
        GameError: a value is of another type, or the game has no such rules.
    """
    valid = [field.name for field in fields(rules)]
    for name, value in settings.items():
        if name not in valid:
            raise UnknownNameError(f"setting of {game}", name, valid)
        kind = type(getattr(rules, name))
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise GameError(f"{game}: {name} is {value!r} (valid: {_TYPES[kind]})")
    return replace(rules, **settings)


_TYPES = {bool: "true or false", int: "whole numbers", float: "numbers", str: "words"}
