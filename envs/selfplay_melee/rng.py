"""Small seeded randomness for compiled rules: 32-bit words in 64-bit integers, equal compiled and uncompiled."""

from __future__ import annotations

from selfplay.compilation.compile import compiled

WORD = 0xFFFFFFFF


@compiled
def mix(a: int, b: int) -> int:
    """A 32-bit word that depends on every bit of both numbers (finaliser of MurmurHash3, public domain)."""
    h = (int(a) ^ (int(a) >> 32) ^ (int(b) * 0x9E3779B1)) & WORD
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & WORD
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & WORD
    return h ^ (h >> 16)


@compiled
def following(word: int) -> int:
    """The next state of a generator (xorshift32, Marsaglia 2003); never 0 for a state that is not 0."""
    h = int(word)
    h ^= (h << 13) & WORD
    h ^= h >> 17
    h ^= (h << 5) & WORD
    return h


@compiled
def unit(word: int) -> float:
    """A state as a number in [0, 1)."""
    return (int(word) & WORD) / 4294967296.0
