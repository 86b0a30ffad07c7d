"""Short names of stages and characters, as players say them."""

from __future__ import annotations

from typing import Final

_NAMES: Final = {
    **dict.fromkeys(("fd", "final"), "final_destination"),
    **dict.fromkeys(("bf",), "battlefield"),
    **dict.fromkeys(("ps", "stadium", "pokemon"), "pokemon_stadium"),
    **dict.fromkeys(("dl", "dl64", "dream_land"), "dreamland"),
    **dict.fromkeys(("fod", "fountain"), "fountain_of_dreams"),
    **dict.fromkeys(("ys", "yoshis"), "yoshis_story"),
    **dict.fromkeys(("falcon", "captain_falcon", "cf"), "cptfalcon"),
    **dict.fromkeys(("ganon",), "ganondorf"),
    **dict.fromkeys(("gnw", "g&w", "game_and_watch", "mr_game_and_watch"), "gameandwatch"),
    **dict.fromkeys(("puff", "jiggs"), "jigglypuff"),
    **dict.fromkeys(("pika",), "pikachu"),
    **dict.fromkeys(("m2",), "mewtwo"),
    **dict.fromkeys(("donkey_kong",), "dk"),
    **dict.fromkeys(("yl", "young_link", "younglink"), "ylink"),
    **dict.fromkeys(("ics", "icies", "ice_climbers"), "popo"),
    **dict.fromkeys(("dr_mario", "drmario"), "doc"),
}
TITLES: Final = {"popo": "the Ice Climbers", "doc": "Dr. Mario"}
"""Characters whose names here are not those that players use."""


def full_name(name: str) -> str:
    """The name of a stage or character that a short name stands for; other names stay as they are."""
    plain = name.lower().replace(" ", "_").replace("-", "_")
    return _NAMES.get(plain, name)
