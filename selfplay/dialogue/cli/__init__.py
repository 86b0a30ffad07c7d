"""Flags of the training of text games, and one module for each of its verbs."""
