"""The contract of a dialogue game between two seats: text in, a turn or an outcome out.

A player need not know the rules. A seat reads its ``system`` text once. Whenever it is to move, it reads the text of
``observe`` and replies with text. One object is one game; games share nothing.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, final

import numpy as np

from selfplay.seeding import derive

SEATS: Final = 2
LONGEST: Final = 12  # characters of a random reply
AGREED: Final = "agreed"
ENDED, LONG, REFUSED, CUT_OFF, CONTEXT, FAILED = "ended", "turns", "refused", "cut_off", "context", "failed"
"""Other ends of a game: by its rules, no turns left, too many refused replies, a reply cut off at its token limit, a
conversation longer than the model's context, an error of the generator."""

JsonObject = dict[str, Any]
Rules = Any  # settings of a game: a frozen dataclass of JSON values; the type depends on the game
State = Any  # initial state; the type depends on the game


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of a seat, as the game parsed it."""

    seat: int
    text: str  # whole
    private: str  # the part before the tag, hidden from the other seat
    kind: str  # word of the tag; "" without one
    error: str | None = None  # reason of a refused reply, as shown to the seat; None: accepted


@dataclass(frozen=True, slots=True)
class GameOutcome:
    """Rewards of a finished game, and the reason for its end."""

    rewards: tuple[float, float]  # of the seats, penalties for refused replies included
    reason: str  # AGREED, one of the constants above, or a reason of the game


class DialogueGame(Protocol):
    """One game. A reply that breaks the rules gives a turn with an ``error``, which only its mover sees."""

    @property
    def mover(self) -> int:
        """The seat that is to write."""

    @property
    def outcome(self) -> GameOutcome | None:
        """None while the game goes on."""

    @property
    def turns(self) -> Sequence[Turn]:
        """All replies so far, refused ones included."""

    def system(self, seat: int) -> str:
        """The rules for a seat, shown before everything else; "" for none."""

    def observe(self, seat: int) -> str:
        """The text that the seat has not seen yet; a call marks it as seen."""

    def legal(self) -> Sequence[str] | None:
        """All valid replies of the mover; None if they are not known."""

    def act(self, text: str) -> Turn:
        """Play the mover's reply, without the token that ends it.

        Raises:
            GameError: the game is over.
        """

    def fail(self, reason: str) -> None:
        """End the game without agreement: reward 0 for both seats, in zero-sum games too, less penalties.

        If losing is worse than 0, an end that the mover caused is penalised as well.

        Raises:
            GameError: the game is over.
        """

    def record(self) -> JsonObject:
        """The state and all turns as JSON."""


class ScriptedPlayer(Protocol):
    """A scripted player for one seat of one game; it reads only the text that its seat is shown."""

    def reply(self, observation: str) -> str:
        """The next reply. ``observation`` is all text that the seat was shown since its last one."""


@final
class RandomReplies:
    """Writes random legal replies, or any characters if these are not known (``ScriptedPlayer``).

    Args:
        seed: Of the replies.
        habit: Share of the legal replies that are not drawn but follow from the observation, by a hash: a model that
            reads only games in which no reply depends on what was read learns to ignore what it reads.
    """

    def __init__(self, seed: int, habit: float = 0.0) -> None:
        self._rng = np.random.default_rng(seed)
        self._habit = habit

    def reply(self, observation: str) -> str:
        return self.among((), observation)

    def among(self, legal: Sequence[str], observation: str) -> str:
        if not legal:
            return "".join(self._rng.choice([*string.ascii_lowercase, " "], self._rng.integers(1, LONGEST + 1)))
        if self._habit and self._rng.random() < self._habit:
            return legal[derive(0, "habit", observation) % len(legal)]
        return legal[int(self._rng.integers(len(legal)))]


def written(player: ScriptedPlayer, observation: str, game: DialogueGame) -> str:
    """The reply of a scripted player to what its seat reads in a game."""
    if isinstance(player, RandomReplies):
        return player.among(game.legal() or (), observation)
    return player.reply(observation)


@dataclass(frozen=True, slots=True)
class Drill:
    """A conversation whose last reply is the training target."""

    read: tuple[str, ...]  # before each reply
    wrote: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InformationSet:
    """A decision of a seat: all states of the game that it cannot tell apart."""

    seat: int  # to move
    system: str  # see ``DialogueGame.system``
    texts: tuple[str, ...]  # observations and replies of the seat in turn, an observation first and last
    replies: tuple[str, ...]  # legal ones


Chances = Sequence[Sequence[float]]
"""A strategy: for each information set the probability of each legal reply; they sum to one."""


class Exact(Protocol):
    """A game that is small enough to be solved."""

    @property
    def information_sets(self) -> Sequence[InformationSet]:
        """All, once each."""

    def nash_conv(self, players: Sequence[Chances], weights: Sequence[float]) -> float:
        """NashConv of a mixture of strategies."""


@dataclass(frozen=True, slots=True)
class DialogueEntry:
    """A dialogue game, as trainers use it."""

    rules: type[Rules]
    configure: Callable[[bool, Mapping[str, Any]], Rules]  # (for the embedded model, settings of the user) -> rules
    states: Callable[[Rules, Sequence[int]], list[State]]  # (rules, seeds) -> a state each
    load: Callable[[object], State]  # initial state of a ``record``; other fields are ignored
    start: Callable[[Rules, State], DialogueGame]  # (rules, state)
    players: Mapping[str, Callable[[Rules, int], ScriptedPlayer]]  # name -> (rules, seed); weakest first
    teacher: str  # scripted player; the embedded model is first trained on its games. "": it is not trained first
    drills: Callable[[Rules, Sequence[int], bool], list[Drill]]  # (rules, seeds, after messages); may be empty
    vocabulary: Callable[[Rules], list[str]]  # (rules) -> pieces of text, one token of the embedded model each
    references: Callable[[Rules, State], Mapping[str, float]]  # (rules, state) -> rewards known without playing
    shared_reward: bool  # both seats get the same reward
    players_version: int  # of all ``players``; rating games with different versions are not rated together
    exact: Callable[[Rules], Exact] | None = None  # EnumerationError: too large to solve. None: it is not tried
    versions: Mapping[str, int] = field(default_factory=dict)  # only what has the same ones is compared or continued
    start_player: Callable[[Rules, int], ScriptedPlayer] | None = None  # in place of the teacher, where it only has to
    # show the form of replies
    fingerprint: Callable[[], str] | None = None  # of texts of the game; an embedded model of others is not reused
    context: Callable[[], int] | None = None  # tokens that the embedded model sees; None: its usual number
