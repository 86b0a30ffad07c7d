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


def actions(kind: GameKind, choices: Mapping[str, str]) -> str:
    """The integers of an action in order, with ``choices`` in words by the name of the integer."""
    spec = kind.actions
    sizes = (*(2 for _ in range(spec.binary)), *spec.sizes)
    rows = [
        (index, f"`{name}`", f"0 to {size - 1}", choices.get(name, ""))
        for index, (name, size) in enumerate(zip(kind.part_names, sizes, strict=True))
    ]
    return table(("index", "integer", "values", "meaning"), rows)


def versions(kind: GameKind) -> str:
    """Versions, and the size of observations, that a policy file has to agree with."""
    rows = [
        ("features of an observation", kind.obs_width),
        ("logits of an action", kind.actions.logits),
        ("version of the observation", kind.encoder_version),
        *((f"`{name}`, of ratings", value) for name, value in kind.rated.described.items()),
    ]
    return table(("", "value"), rows)


def players(kind: GameKind, meanings: Mapping[str, str]) -> str:
    """Scripted players, those that are rated from weakest to strongest."""
    met = set(kind.training_players or kind.ladder) - set(kind.held_out)
    rows = [
        (f"`{name}`", meaning, "yes" if name in kind.ladder else "no", "yes" if name in met else "no")
        for name, meaning in meanings.items()
    ]
    return table(("player", "what it does", "rated", "met in training by default"), rows)
