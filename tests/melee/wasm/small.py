"""A small program: rules of arrays, records and numbers, and conversions to whole numbers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay.compilation.compile import rule
from selfplay_melee.state import records
from selfplay_melee.wasm.memory import Entry, Program

POINT = np.dtype([("x", "f8"), ("n", "i4"), ("path", "f4", (3,))], align=True)
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


class Options(NamedTuple):
    gain: float
    shift: int


@rule
def move(options, points, seat):
    """Change both points; whether the first is right of the second."""
    for i in range(len(points)):
        points[i].x = points[i].x * options.gain + PRIMES[(points[i].n + seat) & 7]
        points[i].path[i] = points[i].x
        points[i].n += options.shift
    return points[0].x > points[1].x


@rule
def to_whole(points):
    """The first x, towards 0."""
    return int(points[0].x)


@rule
def to_half(points):
    """The second x in 32 bits."""
    points[1].n = np.int32(points[1].x)


def program():
    values = {"options": Options(1.0, 1), "points": records(POINT, 2)}
    return Program(
        entries=(
            Entry("move", move, ("options", "points", 1)),
            Entry("to_whole", to_whole, ("points",)),
            Entry("to_half", to_half, ("points",)),
        ),
        values=values,
    )


class Broken(NamedTuple):
    numbers: NDArray[np.float64]


@rule
def needs_library(broken):
    broken.numbers[0] = np.sin(broken.numbers[0])


def program_with_a_library():
    return Program((Entry("needs_library", needs_library, ("broken",)),), {"broken": Broken(np.zeros(1))})
