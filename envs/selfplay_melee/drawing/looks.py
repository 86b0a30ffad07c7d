"""Name, proportions, colours and costume of each character's figure.

Heights are of the drawing, in units, judged by eye from the game; a character with a table has its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from selfplay_melee.drawing.costumes import COSTUMES, FAIR, SEAT, SNOW, Paint, Shape
from selfplay_melee.tables import load_tables

SHIELD_FULL: Final = 60.0


@dataclass(frozen=True, slots=True)
class CharacterLook:
    """A character. Lengths but the height and the shield are in shares of the height."""

    name: str
    height: float = 14.0
    skin: Paint = SEAT
    top: Paint = SEAT  # torso and, without others, sleeves
    legs: Paint = SEAT
    hands: Paint = SEAT
    feet: Paint = SEAT
    sleeves: Paint = ""
    limbs: float = 0.1  # thickness of arms and legs
    body: float = 0.2  # thickness of the torso
    head: float = 0.15  # radius
    arm: float = 0.19  # length of half an arm
    leg: float = 0.23  # length of half a leg
    torso: float = 0.31  # its length
    costume: tuple[Shape, ...] = ()
    shield_radius: float = 7.0  # of a full shield, in units
    shield_y: float = 7.0  # its centre, in units above the feet


_ROUND: Final = CharacterLook("", 9.5, body=0.3, limbs=0.16, head=0.38, arm=0.2, leg=0.14, torso=0.18)
_SMALL: Final = CharacterLook("", 9.5, body=0.34, limbs=0.13, head=0.26, arm=0.15, leg=0.14, torso=0.24)
_STOUT: Final = CharacterLook("", 11.0, body=0.3, limbs=0.12, head=0.19, arm=0.17, leg=0.19, torso=0.28)


def _dressed(look: CharacterLook, name: str, skin: Paint, top: Paint, legs: Paint = "", hands: Paint = "",
             feet: Paint = "", **changes: float | str) -> CharacterLook:  # fmt: skip
    """``look`` in colours; what has none has that of the skin or, on the legs, of the top."""
    return replace(look, name=name, skin=skin, top=top, legs=legs or top, hands=hands or skin, feet=feet or skin,
                   **changes)  # type: ignore[arg-type]  # fmt: skip


_PLAIN: Final = CharacterLook("")
_FOX, _PIKACHU, _PICHU, _KIRBY, _PUFF = "#c8742f", "#f4ce3a", "#f8e08a", "#f3a3c0", "#f9cfdd"
# By Melee's internal character id.
_LOOKS: Final = {
    0: _dressed(_STOUT, "Mario", FAIR, "#d8352a", "#2f52b5", SNOW, "#6b3d1c"),
    1: _dressed(_PLAIN, "Fox", _FOX, "#e4e0d2", "#5f7a4c", "#7c8696", "#c9ccd6", height=13, limbs=0.105, head=0.165),
    2: _dressed(_PLAIN, "Captain Falcon", FAIR, "#31479c", "", "#e3b23a", "#a33a2c", height=16.5, body=0.24,
                limbs=0.105),
    3: _dressed(_PLAIN, "Donkey Kong", "#7b4a26", "#7b4a26", "", "#5f3517", "#d9a873", height=18, body=0.38,
                limbs=0.15, head=0.16, arm=0.23, leg=0.18),
    4: _dressed(_ROUND, "Kirby", _KIRBY, _KIRBY, _KIRBY, _KIRBY, "#cf3350", height=9.0),
    5: _dressed(_PLAIN, "Bowser", "#6fae3f", "#d8b53a", "", "", "#d8b53a", height=19, body=0.42, limbs=0.15, head=0.17),
    6: _dressed(_PLAIN, "Link", FAIR, "#3f8a3a", "#e6dcc3", "#6b4423", "#6b4423", height=15),
    7: _dressed(_PLAIN, "Sheik", FAIR, "#3a5c96", "", "#efe9d8", "#efe9d8", height=15, limbs=0.085, body=0.17),
    8: _dressed(_SMALL, "Ness", FAIR, "#f0c93a", "#3157b5", "", "#d8352a", sleeves=FAIR),
    9: _dressed(_PLAIN, "Peach", FAIR, "#f08fb8", FAIR, SNOW, "#d8352a", height=15.5, limbs=0.08, sleeves=SNOW),
    10: _dressed(_SMALL, "Popo", FAIR, "#3a62c4", "", "#7a4a26", "#7a4a26", body=0.4, head=0.25),
    11: _dressed(_SMALL, "Nana", FAIR, "#e077a4", "", "#7a4a26", "#7a4a26", body=0.4, head=0.25),
    12: _dressed(_SMALL, "Pikachu", _PIKACHU, _PIKACHU, head=0.27),
    13: _dressed(_PLAIN, "Samus", "#c8402c", "#e5892b", "#e5892b", "#3f9a5f", "#c8402c", height=17, body=0.28,
                 limbs=0.12),
    14: _dressed(_PLAIN, "Yoshi", "#6fc653", "#6fc653", "", "", "#e2862e", body=0.28, head=0.16, limbs=0.11),
    15: _dressed(_ROUND, "Jigglypuff", _PUFF, _PUFF, feet="#f3b4cb", limbs=0.14),
    16: _dressed(_PLAIN, "Mewtwo", "#cdc7db", "#cdc7db", "#bdb5cf", height=19, limbs=0.09, body=0.16, head=0.125),
    17: _dressed(_PLAIN, "Luigi", FAIR, "#35a347", "#28408c", SNOW, "#6b3d1c", height=13, head=0.165, limbs=0.105,
                 body=0.22),
    18: _dressed(_PLAIN, "Marth", FAIR, "#3f5fb0", "#5c6c9c", "", "#2a3c73", height=15.5, limbs=0.09, body=0.17),
    19: _dressed(_PLAIN, "Zelda", FAIR, "#c9a2dc", "#e9dcf0", SNOW, "#8a5a9c", height=15.5, limbs=0.08, body=0.17,
                 sleeves=FAIR),
    20: _dressed(_PLAIN, "Young Link", FAIR, "#4f9f3f", FAIR, "", "#7a4a26", height=11.5, head=0.2, torso=0.27,
                 leg=0.2),
    21: _dressed(_STOUT, "Dr. Mario", FAIR, "#eef0f4", "#3a3f52", "", "#6b3d1c"),
    22: _dressed(_PLAIN, "Falco", "#3a62c4", "#d9dce4", "#4b5068", "#3a62c4", "#b5433b", height=14, limbs=0.095,
                 head=0.16),
    23: _dressed(_SMALL, "Pichu", _PICHU, _PICHU, height=7.5, head=0.28),
    24: _dressed(_PLAIN, "Mr. Game & Watch", "#2c2f3a", "#2c2f3a", height=12, limbs=0.08, head=0.19, body=0.18),
    25: _dressed(_PLAIN, "Ganondorf", "#8d8458", "#3d332e", "#5b4636", "#a3762f", "#2e2723", height=17.5, body=0.29,
                 limbs=0.115),
    26: _dressed(_PLAIN, "Roy", FAIR, "#2f4076", "#d8d3c2", "#7a4a26", "#7a4a26", height=15, limbs=0.095, body=0.19),
}  # fmt: skip


@cache
def look_of(character: int) -> CharacterLook:
    """The look of an internal character id; an unknown id has a plain figure in the colour of the seat."""
    look = _LOOKS.get(character, CharacterLook(f"Character {character}"))
    look = replace(look, costume=COSTUMES.get(character, ()))
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
