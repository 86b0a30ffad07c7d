"""Derives the seed of every random stream from the run's seed and the name of the stream."""

from __future__ import annotations

import hashlib


def derive(seed: int, *names: str | int) -> int:
    """A 63-bit seed for a named stream; different names give unrelated streams."""
    text = "/".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()[:8], "little") >> 1
