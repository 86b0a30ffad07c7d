"""Dialogue games: what the scripts do."""
