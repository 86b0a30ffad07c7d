"""Folders of .slp files as examples for imitation learning. No torch."""
