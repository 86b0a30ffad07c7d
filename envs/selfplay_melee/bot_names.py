"""Names of the scripted players and what ratings know of them; loads no compiled rules."""

from __future__ import annotations

from typing import Final

VERSION: Final = 7  # part of every rating's settings: raise it when a bot changes
FRAME_SKIP: Final = 4  # frames between two decisions, in rating games and as a Gymnasium opponent
NAMES: Final = ("idle", "random", "walker", "rusher", "shield_grabber", "counter_hitter", "edge_guarder", "all_rounder")
LADDER: Final = NAMES[1:]  # from the weakest to the strongest
REACTION: Final = 15  # frames after which a person acts: 0.25 s
SLOW: Final = {f"{name}_{REACTION}": name for name in NAMES[2:]}  # the same players with that reaction
SLOW_LADDER: Final = ("random", *SLOW)
