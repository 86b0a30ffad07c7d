"""Imitation learning: a policy from recorded games of others (docs/imitation.md)."""
