"""Imitation learning: a policy from the replays of others (docs/imitation.md)."""
