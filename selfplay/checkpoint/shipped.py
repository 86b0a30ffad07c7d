"""Policies that come with the project, by name: opponents before any training, and fixed points of the ratings.

``python -m scripts.studies.shipped`` trains and rates them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from selfplay.checkpoint.store import MANIFEST

FOLDER: Final = Path(__file__).parents[1] / "shipped"
SHIPPED: Final = "strong"
"""The policy that commands take where none is named and there is no run."""
NO_RUN_YET: Final = "There is no run yet: selfplay train --game-type mock --preset laptop trains one."


@cache
def shipped_policies() -> dict[str, Path]:
    """Policy folders by name."""
    return {path.name: path for path in sorted(FOLDER.glob("*")) if (path / MANIFEST).is_file()}
