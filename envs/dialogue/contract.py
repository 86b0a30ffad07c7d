"""The contract of a dialogue game between two seats: text in, a turn or a verdict out.

A player need not know the rules: a seat reads its ``system`` text once, then, whenever it is to move, what
``observe`` has for it, and answers with text. One object is one game; nothing here is shared between games.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

SEATS: Final = 2
AGREED: Final = "agreed"
LONG, REFUSED, CUT_OFF, CONTEXT, FAILED = "turns", "refused", "cut_off", "context", "failed"
"""Why a game ended otherwise: no turns left, too many refused replies, a reply cut off at its token limit, a
conversation longer than the model's context, an error of the generator."""

JsonObject = dict[str, Any]
Rules = Any
"""Settings of a game: a frozen dataclass of its own, JSON-able."""
State = Any
"""What a game begins with, of a type of its own."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of a seat, as the game parsed it."""

    seat: int
    text: str  # whole
    private: str  # the part before the tag, which the other seat does not read
    kind: str  # the tag's word; "" where there is none
    error: str | None = None  # why the game refused it, as the seat is told; None: it counts


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a game ended."""

    rewards: tuple[float, float]  # of the seats, penalties for refused replies included
    reason: str  # AGREED, or one of the words above, or the game's own


class DialogueGame(Protocol):
    """One game. A reply that breaks the rules gives a turn with an ``error``, shown to its mover alone."""

    @property
    def mover(self) -> int:
        """The seat that is to write."""
        ...

    @property
    def verdict(self) -> Verdict | None:
        """None while the game goes on."""
        ...

    @property
    def turns(self) -> Sequence[Turn]:
        """All replies so far, refused ones included."""
        ...

    def system(self, seat: int) -> str:
        """The rules for a seat, shown before everything else; "" if it is told none."""
        ...

    def observe(self, seat: int) -> str:
        """The text that the seat has not seen yet; a call marks it as seen."""
        ...

    def act(self, text: str) -> Turn:
        """Play the mover's reply, without the token that ends it.

        Raises:
            GameError: the game is over.
        """
        ...

    def fail(self, reason: str) -> None:
        """End the game without agreement: reward 0 for both seats, in zero-sum games too, less penalties.

        Where losing is worse than that, an end that the mover caused is penalised as well.

        Raises:
            GameError: the game is over.
        """
        ...

    def record(self) -> JsonObject:
        """The state and all turns as JSON."""
        ...


class Scripted(Protocol):
    """A scripted player for one seat of one game; it reads only the text that its seat is shown."""

    def reply(self, observation: str) -> str:
        """The next reply. ``observation`` is all text that the seat was shown since its last one."""
        ...


@dataclass(frozen=True, slots=True)
class Drill:
    """A conversation whose last reply is the training target."""

    read: tuple[str, ...]  # before each reply
    wrote: tuple[str, ...]


class Situation(Protocol):
    """An information set: a decision of a seat, with the text that it has seen."""

    @property
    def seat(self) -> int:
        """The seat to move."""
        ...

    @property
    def system(self) -> str:
        """See ``DialogueGame.system``."""
        ...

    @property
    def texts(self) -> Sequence[str]:
        """Observations and replies of the seat in turn, an observation first and last."""
        ...

    @property
    def replies(self) -> Sequence[str]:
        """The legal replies."""
        ...


Chances = Sequence[Sequence[float]]
"""A player of a game that is known whole: in each situation the probability of each reply; they sum to one."""


@dataclass(frozen=True, slots=True)
class Exact:
    """Exact values of a game that is small enough to be solved."""

    situations: Callable[[Any], Sequence[Situation]]  # (rules) -> every one, once
    nash_conv: Callable[[Sequence[Chances], Sequence[float]], float]  # of a mixture: its players, their weights


@dataclass(frozen=True, slots=True)
class DialogueEntry:
    """What a trainer needs to know of a dialogue game."""

    rules: type[Rules]
    configure: Callable[[bool, Mapping[str, Any]], Rules]  # (for the embedded model, settings that were given) -> rules
    states: Callable[[Rules, Sequence[int]], list[State]]  # (rules, seeds) -> a state each
    load: Callable[[object], State]  # the state that a ``record`` began with, other fields are ignored
    start: Callable[[Rules, State], DialogueGame]  # (rules, state)
    players: Mapping[str, Callable[[Rules, int], Scripted]]  # name -> (rules, seed); weakest first
    teacher: str  # scripted player whose games the embedded model is first trained on
    drills: Callable[[Rules, Sequence[int], bool], list[Drill]]  # (rules, seeds, after talk or at once); or none
    words: Callable[[Rules], list[str]]  # (rules) -> pieces of text that are one token of the embedded model
    references: Callable[[Rules, State], Mapping[str, float]]  # (rules, state) -> rewards known without playing
    shared_reward: bool  # both seats are given the same
    exact: Exact | None = None  # None: too large for that
