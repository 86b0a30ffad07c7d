"""What the program has to say to people."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Write a line to stderr, at once."""
    sys.stderr.write(f"stand-in for Dolphin: {line}\n")
    sys.stderr.flush()
