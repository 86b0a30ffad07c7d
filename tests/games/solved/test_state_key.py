"""Equal states have equal keys, and different ones have not."""

import copy
import random
import threading
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

import numpy as np
import pytest

from selfplay.games.solved.state_key import state_key


class Suit(Enum):
    HEARTS, SPADES = range(2)


@dataclass
class Hand:
    cards: list = field(default_factory=list)
    suit: Suit = Suit.HEARTS


class Slotted:
    __slots__ = ("at",)

    def __init__(self, at):
        self.at = at


class Hides:
    """A class that leaves out its state where it is pickled."""

    def __init__(self, at):
        self.at = at

    def __getstate__(self):
        return {}


def circle(value):
    made = [value]
    made.append(made)
    return made


SAME = [
    None, 1, 1.5, "a", b"a", (1, [2]), {"a": {1, 2}}, np.arange(3), np.float32(2), np.array([[1], None], object),
    deque([1, 2]), Hand([1]), Suit.SPADES, Slotted(3), partial(max, 3), circle(1), [].append, Hand, len,
]  # fmt: skip


@pytest.mark.parametrize("value", SAME, ids=lambda value: type(value).__name__)
def test_a_copy_has_the_same_key(value):
    assert state_key(copy.deepcopy(value)) == state_key(value)
    hash(state_key(value))


shared = [1]
DIFFERENT = [
    (1, 1.0), (1, True), (0.0, -0.0), ([1], (1,)), ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (np.arange(3), np.arange(3.0)), (np.zeros((2, 1)), np.zeros((1, 2))), (np.int8(1), np.int16(1)),
    (Hand([1]), Hand([2])), (Suit.HEARTS, Suit.SPADES), (Slotted(1), Slotted(2)), (deque([1]), deque([2])),
    ([shared, shared], [[1], [1]]), (circle(1), circle(2)), (partial(max, 1), partial(max, 2)),
    (threading.Lock(), threading.Lock()), (Hides(1), Hides(2)), (Hand([1]), Slotted([1])),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_has_another_key(one, other):
    assert state_key(one) != state_key(other)


def test_what_generators_draw_next_is_chance():
    assert state_key([random.Random(1), np.random.default_rng(1)]) == state_key(
        [random.Random(2), np.random.default_rng(2)]
    )
