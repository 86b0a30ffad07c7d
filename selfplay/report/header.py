"""The configuration header that every run starts with."""

from __future__ import annotations

from collections.abc import Iterable


def lines(title: str, values: Iterable[tuple[str, object]]) -> list[str]:
    """The header: a title between bars, then one indented line a setting, in the given order.

    Settings whose value is None are left out.
    """
    shown = [f"    {name}: {text(value)}" for name, value in values if value is not None]
    return [f"═══ {title} ═══", "Configuration:", *shown]


def text(value: object) -> str:
    """A setting as a person writes it: yes and no, 3e-4 as 0.0003, thousands grouped."""
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
