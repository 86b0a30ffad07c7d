"""Text games by name."""

from __future__ import annotations

from selfplay.dialogue.contract import DialogueEntry
from selfplay.dialogue.text_entry import entry_of
from selfplay.distribution import install_command
from selfplay.games.errors import GameError
from selfplay.games.kind import TextKind
from selfplay.games.plugins import is_known
from selfplay.games.registry import find_kind, games_of


def text_kind(name: str) -> TextKind | None:
    """The text game of that name; None if there is none."""
    kind = find_kind(name) if is_known(name) else None
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
        found = kind.entry()
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise GameError(f"{missing} is missing, which {name} needs: {install_command('dialogue')}") from error
    return found if isinstance(found, DialogueEntry) else entry_of(name, found)
