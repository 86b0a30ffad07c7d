"""Name and proportions of each character's figure.

Heights are of the drawing, in units, judged by eye from the game; a character with a table has its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from envs.melee.tables import load_tables

SHIELD_FULL: Final = 60.0


@dataclass(frozen=True, slots=True)
class CharacterLook:
    """A character. All but the height and the shield are in shares of the height, 0 is none."""

    name: str
    height: float = 14.0
    ears: float = 0.0
    tail: float = 0.0
    blade: float = 0.0  # held in the front hand
    limbs: float = 0.1  # thickness of arms and legs
    body: float = 0.2  # thickness of the torso
    head: float = 0.13  # radius
    arm: float = 0.19  # length of half an arm
    leg: float = 0.23  # length of half a leg
    torso: float = 0.34  # its length
    shield_radius: float = 7.0  # of a full shield, in units
    shield_y: float = 7.0  # its centre, in units above the feet


_ROUND: Final = CharacterLook("", 9.5, body=0.3, limbs=0.17, head=0.42, arm=0.2, leg=0.1, torso=0.1)
_SMALL: Final = CharacterLook("", 9.5, body=0.34, limbs=0.13, head=0.24, arm=0.15, leg=0.14, torso=0.24)
_STOUT: Final = CharacterLook("", 11.0, body=0.3, limbs=0.12, head=0.18, arm=0.17, leg=0.19, torso=0.3)

# By Melee's internal character id.
_LOOKS: Final = {
    0: replace(_STOUT, name="Mario"),
    1: CharacterLook("Fox", 13, ears=0.17, tail=0.34, limbs=0.105),
    2: CharacterLook("Captain Falcon", 16.5, body=0.23),
    3: CharacterLook("Donkey Kong", 18, body=0.36, limbs=0.14, head=0.14),
    4: replace(_ROUND, name="Kirby", height=9.0),
    5: CharacterLook("Bowser", 19, body=0.42, limbs=0.14, tail=0.35, head=0.15),
    6: CharacterLook("Link", 15, blade=0.55, ears=0.05),
    7: CharacterLook("Sheik", 15, limbs=0.085),
    8: replace(_SMALL, name="Ness"),
    9: CharacterLook("Peach", 15.5, body=0.3, limbs=0.085),
    10: replace(_SMALL, name="Popo", body=0.4),
    11: replace(_SMALL, name="Nana", body=0.4),
    12: replace(_SMALL, name="Pikachu", ears=0.3, tail=0.6),
    13: CharacterLook("Samus", 17, body=0.28, limbs=0.12),
    14: CharacterLook("Yoshi", 14, tail=0.36, body=0.3, head=0.16),
    15: replace(_ROUND, name="Jigglypuff", ears=0.12),
    16: CharacterLook("Mewtwo", 19, ears=0.09, tail=0.5, limbs=0.085),
    17: CharacterLook("Luigi", 13, head=0.15, limbs=0.11, body=0.24),
    18: CharacterLook("Marth", 15.5, blade=0.68, limbs=0.09),
    19: CharacterLook("Zelda", 15.5, body=0.28, limbs=0.085),
    20: CharacterLook("Young Link", 11.5, blade=0.5, ears=0.06, head=0.16),
    21: replace(_STOUT, name="Dr. Mario"),
    22: CharacterLook("Falco", 14, ears=0.1, tail=0.2),
    23: replace(_SMALL, name="Pichu", height=7.5, ears=0.32, tail=0.4),
    24: CharacterLook("Mr. Game & Watch", 12, limbs=0.08, head=0.17, body=0.16),
    25: CharacterLook("Ganondorf", 17.5, body=0.27, limbs=0.11),
    26: CharacterLook("Roy", 15, blade=0.62, limbs=0.095),
}


@cache
def look_of(character: int) -> CharacterLook:
    """The look of an internal character id; an unknown id has a plain figure."""
    look = _LOOKS.get(character, CharacterLook(f"Character {character}"))
    tables = load_tables()
    if not 0 <= character < len(tables.character_rows) or tables.character_rows[character] < 0:
        share = look.height / CharacterLook("").height
        return replace(look, shield_radius=look.shield_radius * share, shield_y=look.height / 2)
    row = tables.characters[tables.character_rows[character]]
    return replace(
        look,
        height=float(row["hurt_height"]),
        shield_radius=float(row["shield_radius"]),
        shield_y=float(row["shield_y"]),
    )
