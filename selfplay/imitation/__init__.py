"""Imitation learning: a policy from the replays of others (docs/melee/imitation.md)."""
