"""SplitMix64 (Steele, Lea and Flood 2014): random words whose n-th can be had without those before it."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_STEPS: Final = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


def words(seeds: Words, numbers: Words) -> Words:
    """The word of each number in the stream of each seed; the two shapes are broadcast."""
    with np.errstate(over="ignore"):  # modulo 2^64 is meant
        z: Words = seeds + numbers * _GAMMA
        for shift, factor in _STEPS:
            z = (z ^ (z >> shift)) * factor
        return z ^ (z >> np.uint64(31))
