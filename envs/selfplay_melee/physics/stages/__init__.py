"""Floors, moving platforms, wind, and what happens by chance."""
