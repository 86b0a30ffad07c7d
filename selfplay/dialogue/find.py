"""Text games by name."""

from __future__ import annotations

from selfplay.dialogue.contract import DialogueEntry, TextKind
from selfplay.distribution import install_command
from selfplay.games.errors import GameError
from selfplay.games.plugins import installed
from selfplay.games.registry import find_kind, games_of


def text_kind(name: str) -> TextKind | None:
    """The installed text game of that name; None if there is none."""
    kind = find_kind(name) if name in installed() else None
    return kind if isinstance(kind, TextKind) else None


def find_dialogue(name: str) -> DialogueEntry:
    """The text game of that name.

    Raises:
        UnknownNameError: there is none.
        GameError: it is no text game, or what these games need is not installed.
    """
    kind = find_kind(name)
    if not isinstance(kind, TextKind):
        raise GameError(f"{name} is no dialogue game (valid: {', '.join(sorted(games_of('dialogue')))})")
    try:
        return kind.entry()
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise GameError(f"{missing} is missing, which {name} needs: {install_command('dialogue')}") from error
