"""Every outcome of draws, with its probability."""

import random
from collections import defaultdict

import numpy as np
import pytest

from selfplay.games.errors import EnumerationError
from selfplay.games.solved.chance import outcomes


def distribution(function):
    found = defaultdict(float)
    for chance, result, _ in outcomes(lambda: function(np.random.default_rng(0), random.Random(0))):
        found[tuple(np.ravel(result).tolist())] += chance
    return dict(found)


def sampled(function, count=3000):
    """The same, by drawing from real generators."""
    rng, other, found = np.random.default_rng(1), random.Random(1), defaultdict(float)
    for _ in range(count):
        found[tuple(np.ravel(function(rng, other)).tolist())] += 1 / count
    return dict(found)


def shuffled(shuffle, values):
    shuffle(values)
    return values


DRAWS = {
    "permutation": lambda g, r: g.permutation(3),
    "permutation of values": lambda g, r: g.permutation([5, 5, 7]),
    "shuffle": lambda g, r: shuffled(g.shuffle, np.array([[1, 2], [3, 4], [5, 6]])),
    "choice": lambda g, r: g.choice([4, 6, 6]),
    "weighted choice": lambda g, r: g.choice(3, p=[0.5, 0.5, 0.0]),
    "choices": lambda g, r: g.choice(2, size=(2, 1), p=[0.9, 0.1]),
    "without replacement": lambda g, r: g.choice(4, size=2, replace=False),
    "weighted without replacement": lambda g, r: g.choice(3, size=2, replace=False, p=[0.6, 0.3, 0.1]),
    "integers": lambda g, r: [g.integers(2), *g.integers(3, 5, size=2), g.integers(1, 2, endpoint=True)],
    "random": lambda g, r: [x < 0.3 for x in [g.random()] for _ in range(2)],
    "two thresholds": lambda g, r: [(x < 0.25, x >= 0.5, x < 0.5) for x in [r.random()]],
    "randint": lambda g, r: [r.randint(1, 2), r.randrange(3), r.randrange(0, 6, 3), r.getrandbits(1)],
    "shuffle of a list": lambda g, r: shuffled(r.shuffle, [1, 2, 3]),
    "sample": lambda g, r: r.sample([1, 2, 2], 2),
    "choice of an object": lambda g, r: [r.choice("ab")],
    "choices of objects": lambda g, r: r.choices([1, 2], weights=[1, 3], k=2),
    "cumulative weights": lambda g, r: r.choices([1, 2], cum_weights=[1, 4], k=2),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_outcomes_have_the_chances_of_the_generators(draw):
    exact, seen = distribution(draw), sampled(draw)
    assert sum(exact.values()) == pytest.approx(1)
    assert seen.keys() == exact.keys()
    for outcome, chance in exact.items():
        assert seen[outcome] == pytest.approx(chance, abs=0.05)  # five standard deviations


@pytest.mark.parametrize(
    ("draw", "call"),
    [
        (lambda g, r: g.normal(), r"normal\(\) of NumPy"),
        (lambda g, r: r.gauss(0, 1), r"gauss\(\) of random"),
        (lambda g, r: 6 * g.random(), r"computation with random\(\)"),
        (lambda g, r: int(r.random()), r"computation with random\(\)"),
        (lambda g, r: g.random(3), r"random\(size\)"),
        (lambda g, r: random.choice([1, 2]), r"choice\(\) draws from the generator of the whole process"),
        (lambda g, r: np.random.randint(2), r"randint\(\) draws from the generator of the whole process"),
    ],
)
def test_draws_that_have_no_list_of_outcomes_are_refused_by_name(draw, call):
    with pytest.raises(EnumerationError, match=call):
        distribution(draw)


def test_two_generators_of_one_seed_are_refused_and_of_two_seeds_are_not():
    with pytest.raises(EnumerationError, match="two generators of the seed 3"):
        list(outcomes(lambda: [np.random.default_rng(3).integers(2) for _ in range(2)]))
    found = list(outcomes(lambda: [np.random.default_rng(seed).integers(2) for seed in ([3, 0], [3, 1])]))
    assert len(found) == 4
    with pytest.raises(EnumerationError, match="two generators"):  # also of an earlier step
        list(outcomes(lambda: np.random.default_rng([3, 0]), seeds=found[0][2]))
    with pytest.raises(EnumerationError, match="without a seed"):
        list(outcomes(lambda: np.random.default_rng()))


def test_the_generators_are_put_back():
    before = np.random.default_rng, random.Random
    with pytest.raises(ZeroDivisionError):
        list(outcomes(lambda: 1 / 0))
    assert (np.random.default_rng, random.Random) == before
