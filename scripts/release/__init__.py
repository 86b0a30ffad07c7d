"""Prepares and checks a release: ``python -m scripts.release``."""
