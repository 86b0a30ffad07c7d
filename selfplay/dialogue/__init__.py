"""Dialogue games: what the scripts do."""

from typing import Final

DEFAULT: Final = "matching"
"""The game of a call that names none."""
