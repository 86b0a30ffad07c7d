"""Attacks, shots and holds: what touches, and what it does."""
