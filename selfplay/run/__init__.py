"""Runs of the trainer: supervision tree, training loop, rating games, saving and resuming."""
