"""Every outcome of a function that draws random numbers, each with its exact probability.

While the function runs, ``np.random.default_rng``, ``np.random.RandomState`` and ``random.Random`` make generators
whose draws are choice points. The function is run again for each sequence of outcomes, depth first. A uniform number
may be compared with other numbers; what else draws from a continuous distribution is refused. The names are replaced
for the whole process meanwhile: no other thread should make generators.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

from selfplay.games.errors import EnumerationError

T = TypeVar("T")
ONE_GENERATOR: Final = "make one generator in reset and keep it, or give each a seed of its own"


_OF_PROCESS: Final = (random.choice.__self__, np.random.choice.__self__)  # type: ignore[attr-defined]
"""The generators behind functions of the modules."""


class _Run:
    """One run: the outcomes of its draws, and the probability of all of them."""

    def __init__(self, script: list[tuple[int, list[float]]], seeds: frozenset[str]) -> None:
        self._script = script
        self._drawn = 0
        self.probability = 1.0
        self.seeds = seeds

    def draw(self, chances: Sequence[float]) -> int:
        """The outcome of the next draw, by number."""
        if self._drawn == len(self._script):
            self._script.append((_possible(chances, 0), list(chances)))
        outcome, before = self._script[self._drawn]
        if before != list(chances):
            raise EnumerationError("equal draws have different chances: something else than its seed decides")
        self._drawn += 1
        self.probability *= before[outcome]
        return outcome


_run: ContextVar[_Run] = ContextVar("run")


def outcomes(
    function: Callable[[], T], modules: tuple[str, ...] = (), seeds: frozenset[str] = frozenset()
) -> Iterator[tuple[float, T, frozenset[str]]]:
    """Run a function once for every sequence of outcomes of its draws.

    Args:
        function: Must do the same again if its draws have the same outcomes.
        modules: Names of modules that may have imported generators by their own names.
        seeds: Seeds of generators that were made before.

    Yields:
        The probability, what the function returned, and ``seeds`` with those of the generators that it made.

    Raises:
        EnumerationError: it draws what has no list of outcomes.
    """
    script: list[tuple[int, list[float]]] = []
    while True:
        run = _Run(script, seeds)
        token = _run.set(run)
        try:
            with _replaced(modules):
                result = function()
        finally:
            _run.reset(token)
        yield run.probability, result, run.seeds
        while script and _possible(script[-1][1], script[-1][0] + 1) == len(script[-1][1]):
            script.pop()
        if not script:
            return
        last, chances = script.pop()
        script.append((_possible(chances, last + 1), chances))


def _possible(chances: Sequence[float], first: int) -> int:
    """The first outcome from ``first`` on that has a chance; their number if none has."""
    return next((i for i in range(first, len(chances)) if chances[i] > 0.0), len(chances))


@cache
def _places(modules: tuple[str, ...]) -> list[tuple[dict[str, Any], str, Any, Any]]:
    """Where names stand for generators or their methods: the dictionary, the name, the value and its stand-in."""
    places = [vars(np.random), vars(random), *(vars(sys.modules[name]) for name in modules if name in sys.modules)]
    named = [(place, name, value) for place in places for name, value in place.items()]
    found = ((place, name, value, _stand_in(name, value)) for place, name, value in named)
    return [each for each in found if each[3] is not None]


def _stand_in(name: str, value: Any) -> Any:
    if value is np.random.default_rng:
        return _numpy_draws
    if value is np.random.RandomState:
        return NumpyDraws
    if value is random.Random:
        return PythonDraws
    owner = getattr(value, "__self__", None)
    return partial(_of_process, name) if owner is not None and owner in _OF_PROCESS else None


def _of_process(name: str, *_: object, **__: object) -> NoReturn:
    raise EnumerationError(f"{name}() draws from the generator of the whole process, which no seed of the game decides")


@contextmanager
def _replaced(modules: tuple[str, ...]) -> Iterator[None]:
    """Put the stand-ins in place of the generators, also under the names that these modules gave them."""
    found = _places(modules)
    for place, name, _, stand_in in found:
        place[name] = stand_in
    try:
        yield
    finally:
        for place, name, value, _ in found:
            place[name] = value


def _numpy_draws(seed: Any = None) -> NumpyDraws:
    return seed if isinstance(seed, NumpyDraws) else NumpyDraws(seed)


def _count_seed(seed: Any, kind: str) -> None:
    """Refuse a second generator of a seed: it would give the same numbers, which independent draws do not."""
    if seed is None:
        raise EnumerationError("it makes a generator without a seed, so that its seed does not decide its chance")
    run, name = _run.get(), f"{kind} {seed!r}"
    if name in run.seeds:
        raise EnumerationError(f"it makes two generators of the seed {seed!r}: {ONE_GENERATOR}")
    run.seeds |= {name}


def _index(count: int) -> int:
    """One of ``count`` outcomes that are all alike likely."""
    if count < 1:
        raise ValueError("there is nothing to draw from")
    return _run.get().draw([1.0 / count] * count)


def _weighted(weights: Sequence[float]) -> int:
    total = float(sum(weights))
    return _run.get().draw([float(weight) / total for weight in weights])


def _order(count: int, drawn: int, weights: Sequence[float] | None = None) -> list[int]:
    """``drawn`` of the numbers below ``count`` without replacement, in the order in which they are drawn."""
    left = list(range(count))
    chosen = []
    for _ in range(drawn):
        place = _index(len(left)) if weights is None else _weighted([weights[i] for i in left])
        chosen.append(left.pop(place))
    return chosen


def _refused(call: str) -> NoReturn:
    raise EnumerationError(
        f"it cannot be enumerated: {call} has no list of outcomes with known chances (valid: permutation, shuffle, "
        f"choice, integers, and random() compared with a number)"
    )


class Uniform:
    """A uniform number in [0, 1), of which comparisons tell on which side of a number it is."""

    def __init__(self) -> None:
        self._low, self._high = 0.0, 1.0

    def _below(self, bound: float) -> bool:
        if bound <= self._low or bound >= self._high:
            return bound >= self._high
        share = (float(bound) - self._low) / (self._high - self._low)
        below = _run.get().draw([1.0 - share, share]) == 1
        if below:
            self._high = float(bound)
        else:
            self._low = float(bound)
        return below

    def __lt__(self, bound: float) -> bool:
        return self._below(bound)

    def __le__(self, bound: float) -> bool:
        return self._below(bound)

    def __gt__(self, bound: float) -> bool:
        return not self._below(bound)

    def __ge__(self, bound: float) -> bool:
        return not self._below(bound)

    def _no_number(self, *_: object) -> NoReturn:
        _refused("a computation with random()")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_number
    __float__ = __int__ = __index__ = __bool__ = __round__ = __neg__ = __pow__ = __floordiv__ = _no_number


class NumpyDraws:
    """Stands in for ``np.random.Generator`` and ``np.random.RandomState``."""

    def __init__(self, seed: Any = None) -> None:
        _count_seed(seed, "numpy")

    @classmethod
    def given(cls) -> NumpyDraws:
        """A generator that its user did not make."""
        return cls.__new__(cls)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        _refused(f"{name}() of NumPy's generator")

    def random(self, size: None = None) -> Uniform:
        if size is not None:
            _refused("random(size)")
        return Uniform()

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        low, high = (0, int(low)) if high is None else (int(low), int(high))
        count = high - low + endpoint
        return _sized(lambda: np.dtype(dtype).type(low + _index(count)), size, dtype)

    def randint(self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Any:
        return self.integers(low, high, size, dtype)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        if axis:
            _refused(f"permutation(axis={axis})")
        values = np.arange(x) if isinstance(x, int | np.integer) else np.array(x)
        return values[_order(len(values), len(values))]

    def shuffle(self, x: Any, axis: int = 0) -> None:
        if axis:
            _refused(f"shuffle(axis={axis})")
        _shuffled(x)

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        values = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        weights = None if p is None else [float(each) for each in p]
        if axis or not (shuffle or replace):
            _refused("choice(axis, shuffle=False)")
        if weights is not None and len(weights) != len(values):
            raise ValueError(f"choice of {len(values)} values has {len(weights)} probabilities")
        if replace or size is None:
            one: Callable[[], int] = lambda: _index(len(values)) if weights is None else _weighted(weights)  # noqa: E731
            return values[one() if size is None else _sized(one, size, np.int64)]
        return values[np.array(_order(len(values), int(np.prod(size)), weights), np.int64).reshape(size)]


def _sized(draw: Callable[[], Any], size: Any, dtype: Any) -> Any:
    if size is None:
        return draw()
    return np.array([draw() for _ in range(int(np.prod(size)))], dtype).reshape(size)


def _shuffled(values: MutableSequence[Any]) -> None:
    before = [np.copy(each) if isinstance(each, np.ndarray) else each for each in values]
    for place, drawn in enumerate(_order(len(before), len(before))):
        values[place] = before[drawn]


class PythonDraws:
    """Stands in for ``random.Random``."""

    def __init__(self, seed: Any = None) -> None:
        _count_seed(seed, "python")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        _refused(f"{name}() of random.Random")

    def random(self) -> Uniform:
        return Uniform()

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        values = range(start) if stop is None else range(start, stop, step)
        return values[_index(len(values))]

    def randint(self, a: int, b: int) -> int:
        return self.randrange(a, b + 1)

    def getrandbits(self, k: int) -> int:
        return _index(1 << k)

    def choice(self, seq: Sequence[T]) -> T:
        return seq[_index(len(seq))]

    def choices(
        self,
        population: Sequence[T],
        weights: Any = None,
        *,
        cum_weights: Any = None,
        k: int = 1,
    ) -> list[T]:
        if cum_weights is not None:
            weights = [late - early for early, late in zip([0, *cum_weights], cum_weights, strict=False)]
        shares = [1.0] * len(population) if weights is None else list(weights)
        return [population[_weighted(shares)] for _ in range(k)]

    def shuffle(self, x: MutableSequence[Any]) -> None:
        _shuffled(x)

    def sample(self, population: Sequence[T], k: int, *, counts: Sequence[int] | None = None) -> list[T]:
        if counts is not None:
            _refused("sample(counts)")
        return [population[i] for i in _order(len(population), k)]


GENERATORS: Final = (NumpyDraws, PythonDraws, np.random.Generator, np.random.RandomState, random.Random)
