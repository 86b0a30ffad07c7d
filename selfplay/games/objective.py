"""The objective of a game: what its players play for, and so what they are judged by."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from selfplay.games.check import random_step
from selfplay.games.errors import GameError, UnknownNameError

if TYPE_CHECKING:
    from selfplay.games.api import ScriptedGame

Kind = Literal["outcome", "reward", "shared"]
KINDS: Final[tuple[Kind, ...]] = ("outcome", "reward", "shared")
DECLARED: Final = ("objective", "payoff_range", "payoff_unit")  # attributes of a game, or keys of its metadata
EQUAL: Final = 1e-9  # tolerance below which two payoffs are equal
EPISODES: Final = 64  # of random play that show the payoffs of a game that declares no objective
STEPS: Final = 100  # of them at most
GAMES: Final = 4  # side by side
SECONDS: Final = 2.0  # at most, beside the last step


@dataclass(frozen=True, slots=True)
class Objective:
    """What players of a game play for.

    The payoff of a seat is the sum of its rewards in an episode. ``outcome``: to win, whatever the payoffs are.
    ``reward``: a high payoff, as in poker. ``shared``: a high payoff that both seats always get alike.
    """

    kind: Kind
    low: float | None = None  # bounds of a payoff; None: not known
    high: float | None = None
    unit: str = "points"  # of a payoff, plural
    measured: bool = False  # found by random play, not declared

    @property
    def by_payoff(self) -> bool:
        """Whether payoffs count, and not only who has the larger one."""
        return self.kind != "outcome"

    def described(self) -> dict[str, Any]:
        """What makes rated games comparable, JSON-able; empty where only wins count."""
        return {"objective": self.kind} if self.by_payoff else {}

    def recorded(self) -> dict[str, str]:
        """Fields of the record of a rated game."""
        return {"objective": self.kind, "unit": self.unit} if self.by_payoff else {}

    def advice(self) -> str | None:
        """How a game that declares no objective is judged, and how to declare it; None for other games."""
        if not (self.measured and self.by_payoff):
            return None
        seen = f"payoffs of {self.low:g} to {self.high:g} in random play"
        if self.kind == "shared":
            return (
                f"Cooperative: both seats always get equal rewards ({seen}), and evaluations use the mean payoff of a "
                'pair. `objective = "shared"` in the class declares it.'
            )
        return (
            f"Played for {self.unit} ({seen}): ratings and evaluations use the mean payoff. "
            '`objective = "reward"` in the class declares it, `"outcome"` counts wins only.'
        )

    def __str__(self) -> str:
        """In words, for people."""
        if self.kind == "outcome":
            return "played to win: wins, draws and losses count"
        shared = " that both players share" if self.kind == "shared" else ""
        known = self.low is not None and self.high is not None
        seen = " in the games seen" if self.measured else ""
        bounds = f", {self.low:g} to {self.high:g}{seen}" if known else ""
        return f"played for {self.unit}{shared}{bounds}: the mean payoff counts"


OUTCOME: Final = Objective("outcome")


def decimals(*payoffs: float) -> int:
    """Of these payoffs as text: three, or as many as show two digits of the largest."""
    largest = max(map(abs, payoffs), default=0.0)
    return 3 if largest <= EQUAL else max(3, 1 - math.floor(math.log10(largest)))


def declared(
    game: str,
    objective: str | None = None,
    payoff_range: tuple[float, float] | None = None,
    payoff_unit: str = "points",
) -> Objective | None:
    """The objective that a game declares by its attributes; None if it declares none.

    Raises:
        GameError: they are not valid; ``game`` is named in the message.
    """
    if objective is None:
        if payoff_range is not None:
            raise GameError(f"{game}: payoff_range needs objective = 'reward' or 'shared'")
        return None
    if objective not in KINDS:
        raise UnknownNameError(f"objective of {game}", str(objective), KINDS)
    if not (isinstance(payoff_unit, str) and payoff_unit.isprintable() and payoff_unit):
        raise GameError(f"{game}: payoff_unit is {payoff_unit!r}; a word in the plural is needed, such as 'chips'")
    if payoff_range is None:
        return Objective(objective, unit=payoff_unit)
    try:
        low, high = map(float, payoff_range)
        valid = math.isfinite(low) and math.isfinite(high) and low < high
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise GameError(f"{game}: payoff_range is {payoff_range!r}; two finite numbers are needed, the lower one first")
    return Objective(objective, low, high, payoff_unit)


def given_by(source: object) -> dict[str, Any]:
    """Arguments of ``declared`` among the attributes of a game, or among the keys of an environment's metadata."""
    if isinstance(source, Mapping):
        return {name: source[name] for name in DECLARED if name in source}
    return {name: getattr(source, name) for name in DECLARED if hasattr(source, name)}


def measure(games: ScriptedGame) -> Objective:
    """The objective that payoffs of random play show: ``outcome`` if each score has one payoff. Plays; closes nothing.

    Of a game so slow that no episode ends in ``SECONDS`` nothing is shown: its objective must be declared.

    Args:
        games: A block of games whose ``stats`` have payoffs; other games are played to win.
    """
    if "reward_payoff" not in (games.stats_dtype.names or ()):
        return OUTCOME
    rng, found = np.random.default_rng(0), PaidByScore()
    games.bots[:] = -1
    games.reset(np.arange(games.num_games, dtype=np.uint64))
    episodes, end = 0, time.monotonic() + SECONDS
    for _ in range(STEPS):
        batch = games.step(random_step(games, rng))
        ended = batch.ended
        for scores, paid in zip(batch.score[ended].tolist(), batch.stats["reward_payoff"][ended].tolist(), strict=True):
            found.add_game(scores[0], (paid[0], paid[1]))
            episodes += 1
        if episodes >= EPISODES or time.monotonic() >= end:
            break
    return found.objective()


class PaidByScore:
    """Payoffs of games by their scores: where payoffs of one score differ, scores do not tell payoffs."""

    def __init__(self) -> None:
        self._range: dict[float, tuple[float, float]] = {}
        self._shared = True  # no game paid its seats differently
        self._paid = False  # some game paid anything

    def add_game(self, score: float, payoffs: tuple[float, float]) -> None:
        """Add a game: the score of the first seat, and the payoffs of both."""
        for mine, payoff in ((score, payoffs[0]), (1.0 - score, payoffs[1])):
            low, high = self._range.get(mine, (payoff, payoff))
            self._range[mine] = min(low, payoff), max(high, payoff)
        self._shared &= abs(payoffs[0] - payoffs[1]) <= EQUAL
        self._paid |= any(abs(payoff) > EQUAL for payoff in payoffs)

    @property
    def differ(self) -> bool:
        """Whether payoffs of one score differ, as in poker; not where a game is won, drawn or lost and no more."""
        return any(high - low > EQUAL for low, high in self._range.values())

    @property
    def shared(self) -> bool:
        """Whether every game paid both seats alike."""
        return self._shared

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest payoff; both 0 without games."""
        ends = self._range.values()
        return min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=0.0)

    def objective(self) -> Objective:
        """The objective that these payoffs show."""
        if not self.differ and not (self._paid and self._shared):
            return Objective("outcome", measured=True)
        return Objective("shared" if self._shared else "reward", *self.range, measured=True)
