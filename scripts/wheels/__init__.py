"""Builds what is published: ``python -m scripts.wheels``."""
