"""Which special moves the table of a character has: the attributes from ``neutral_ground`` to ``down_air``."""

from __future__ import annotations

from typing import Final

from selfplay_melee.tables import CHARACTERS, load_tables, names_of
from selfplay_melee.tables.layout import ATTRIBUTES

SLOTS: Final = ATTRIBUTES[-8:]  # by direction, on the ground and in the air
DIRECTIONS: Final = tuple(slot.removesuffix("_ground") for slot in SLOTS[::2])
NOTHING, STARTS, NEVER = range(3)
WORDS: Final = ("nothing yet", "starts a move", "nothing in the game either")
_NEVER: Final = frozenset({("dk", "down_air")})  # hand slap needs a floor


def special_slots(character: str) -> tuple[int, ...]:
    """By slot whether B starts a move there: ``STARTS``, ``NOTHING``, or ``NEVER`` where the game has none either."""
    tables = load_tables()
    row = tables.characters[tables.character_rows[CHARACTERS[character]]]
    return tuple(STARTS if row[slot] else NEVER if (character, slot) in _NEVER else NOTHING for slot in SLOTS)


def slots_table() -> str:
    """All characters and slots as a table in Markdown; without spaces, which would count as words of the page."""
    signs = {NOTHING: "–", STARTS: "yes", NEVER: "×"}
    lines = [f"|{'|'.join(('character', *DIRECTIONS))}|", "|---" * (1 + len(DIRECTIONS)) + "|"]
    for name in names_of("characters"):
        cells = [signs[slot] for slot in special_slots(name)]
        lines.append(f"|{'|'.join((name, *map('/'.join, zip(cells[::2], cells[1::2], strict=True))))}|")
    return "\n".join(lines) + "\n"
