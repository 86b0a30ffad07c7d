"""Limits of fights, and how they end."""

from __future__ import annotations

from typing import Final

MAX_DELAY: Final = 60  # frames from seeing to acting
LEDGE_GRAB_LIMIT: Final = 60  # by default, see ``MeleeGame``
ENDED_BY: Final = ("stocks", "timer", "cap")
"""Endings of a fight, by their number in its stats."""
FINISHED: Final = 0
"""Number, in the stats of a fight, of the ending in which a player is out of stocks: the fight was finished."""
