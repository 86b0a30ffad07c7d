"""Tables that the pages of all games with numbered actions have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.studies.pages import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from selfplay.games.kind import GameKind


def joined(parts: Iterable[tuple[str, str]]) -> str:
    """Tables with a heading each."""
    return "\n\n".join(f"## {heading}\n\n{text}" for heading, text in parts)


def merged(rows: Iterable[tuple[int, str, str]]) -> list[tuple[str, str, str]]:
    """Rows of index, name and meaning, with one row for all names of the same meaning."""
    found: dict[str, list[tuple[int, str]]] = {}
    for index, name, meaning in rows:
        found.setdefault(meaning, []).append((index, name))
    return [
        (_span([index for index, _ in each]), ", ".join(f"`{name}`" for _, name in each), meaning)
        for meaning, each in found.items()
    ]


def _span(indices: list[int]) -> str:
    first, last = indices[0], indices[-1]
    whole = len(indices) > 2 and indices == list(range(first, last + 1))
    return f"{first} to {last}" if whole else ", ".join(map(str, indices))


def actions(kind: GameKind, choices: Mapping[str, str]) -> str:
    """The integers of an action in order, with ``choices`` in words by the name of the integer."""
    spec = kind.actions
    sizes = (*(2 for _ in range(spec.binary)), *spec.sizes)
    rows = [
        (index, name, f"0 to {size - 1}: {choices.get(name, '')}")
        for index, (name, size) in enumerate(zip(kind.part_names, sizes, strict=True))
    ]
    return table(("index", "integer", "values"), merged(rows))


def versions(kind: GameKind) -> str:
    """Versions, and the size of observations, that a policy file has to agree with."""
    rated = ", ".join(f"`{name}` {value}" for name, value in kind.rated.described.items())
    sizes = f"{kind.obs_width} features of an observation (version {kind.encoder_version})"
    return f"{sizes}, {kind.actions.logits} logits of an action. Ratings: {rated}."


def players(kind: GameKind, meanings: Mapping[str, str]) -> str:
    """Scripted players, those that are rated from weakest to strongest."""
    met = set(kind.training_players or kind.ladder) - set(kind.held_out)
    rows = []
    for name, meaning in meanings.items():
        without = [
            *([] if name in kind.ladder else ["not rated"]),
            *([] if name in met else ["not met in training by default"]),
        ]
        rows.append((f"`{name}`", "; ".join([meaning, *without])))
    return table(("player", "what it does"), rows)
