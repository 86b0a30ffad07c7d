"""The play page: one HTML file on which a person fights policies and scripted players of the mock."""

from typing import Final

NAME_LETTERS: Final = 24
"""Longest name of a person."""
NAMELESS: Final = "You"
"""Name in games of a person who typed none."""
