"""Dialogue games: two seats take turns in writing."""
