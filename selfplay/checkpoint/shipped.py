"""Policies that come with the project, by name: opponents before any training, and fixed points of the ratings.

``python -m scripts.studies.shipped`` trains and rates them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from selfplay.checkpoint.store import MANIFEST

FOLDER: Final = Path(__file__).parents[1] / "shipped"


@cache
def shipped_policies() -> dict[str, Path]:
    """Policy folders by name."""
    return {path.name: path for path in sorted(FOLDER.glob("*")) if (path / MANIFEST).is_file()}
