"""Imitation learning: a policy from recorded games of others (docs/trainer/imitation.md)."""
