"""The configuration header of a run."""

from __future__ import annotations

from collections.abc import Iterable


def lines(title: str, values: Iterable[tuple[str, object]]) -> list[str]:
    """The title, then one indented line per setting in the given order. None values are left out."""
    shown = [f"    {name}: {text(value)}" for name, value in values if value is not None]
    return [f"═══ {title} ═══", "Configuration:", *shown]


def text(value: object) -> str:
    """Format a value: yes or no, ``%g`` floats, grouped thousands."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case dict():
            return ", ".join(f"{name} {text(share)}" for name, share in value.items())
        case list() | tuple():
            return ", ".join(text(item) for item in value)
        case _:
            return str(value)
