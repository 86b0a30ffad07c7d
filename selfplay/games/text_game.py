"""One text game of two seats: what a text game of one's own is written as (``selfplay.TextGame``).

``selfplay/examples/word_game.py`` is one, in 20 lines. See docs/dialogue/text_games.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol

import numpy as np

Acted = str | Sequence[float] | tuple[float, float, str] | None
"""What ``TextGame.act`` returns: None, a reason, or the rewards of both seats, with or without a reason of the end."""


Defaults = Mapping[str, Mapping[str, Any]]
DEFAULTS: Final[Defaults] = {
    "start": {"tokens": 80_000},  # enough to learn that replies depend on what was read
    "grpo": {"learning_rate": 1e-3, "batch_rows": 32, "games_per_state": 4},
    "run": {"games": 4096, "num_games": 64},
}
"""Settings of a training of the embedded model, of all text games that name no others."""


class TextPlayer(Protocol):
    """A scripted player of one seat of one game."""

    def reply(self, observation: str) -> str:
        """The next reply, after the text of ``observe``, or after ``Error: reason`` if the last one was refused."""


Players = Mapping[str, Callable[[str, np.random.Generator], str] | Callable[[np.random.Generator], TextPlayer]]


class TextGame(ABC):
    """A game of two seats that read and write text.

    A game must be deterministic given its seed and the replies. Its constructor takes no arguments.

    Attributes:
        mover: The seat that replies next; set by ``reset`` and ``act``.
        players: Scripted players, the weakest first: a function ``(observation, rng) -> reply``, or a class that is
            made for each game with ``rng`` and has ``reply(observation)``. There is always a player ``random``: it
            writes one of the ``legal`` replies, or any characters if these are not known.
        tags: Words in brackets. The last one in a reply, such as ``[bet]``, begins its public part, which ``act`` gets;
            the text before it is private. Without tags, or in a reply without one, ``act`` gets the whole reply.
        retries: Refused replies per turn; one more ends the game with rewards 0.
        error_penalty: Subtracted from a seat's reward for each refused reply, and for a reply that never ends. None:
            the most that a game can cost by ``payoff_range``, and 0 with a shared objective.
        max_turns: Turns of both seats together, after which a game ends with rewards 0.
        objective: ``"shared"``, both seats get the same reward; or ``"reward"``. None: what random games show.
        payoff_range: The lowest and the highest reward, if they are known.
        best: The best mean reward that is possible, if it is known.
        version: Of rules and texts. Games of other versions are not compared.
        defaults: Settings of a training of the embedded model, by group and name, in place of ``DEFAULTS``.
    """

    mover: int
    players: Players = MappingProxyType({})
    tags: Sequence[str] = ()
    retries: int = 0
    error_penalty: float | None = None
    max_turns: int = 100
    objective: str | None = None
    payoff_range: tuple[float, float] | None = None
    payoff_unit: str = "points"
    best: float | None = None
    version: int = 1
    defaults: Defaults = MappingProxyType({})

    @abstractmethod
    def reset(self, seed: int) -> None:
        """Begin a game. All randomness comes from the seed."""

    def rules(self, seat: int) -> str:
        """The rules for a seat, which a language model reads once; the embedded model does not read them."""
        del seat
        return ""

    @abstractmethod
    def observe(self, seat: int) -> str:
        """What a seat has not read yet: what happened since its last reply, or since the start. Changes nothing."""

    @abstractmethod
    def act(self, text: str) -> Acted:
        """Play the mover's reply.

        Returns:
            None if the game goes on; the reason, as the mover reads it, if the reply is refused, in which case nothing
            has changed; or the rewards of both seats if the game is over.
        """

    def legal(self, seat: int) -> Sequence[str] | None:
        """All valid replies of the mover, which must follow from what it has read; None: they have no list."""
        del seat
        return None


def has_legal(game: type[TextGame]) -> bool:
    """Whether a game lists its legal replies."""
    return game.legal is not TextGame.legal


def defaults_of(game: type[TextGame]) -> dict[str, dict[str, Any]]:
    """Settings of a training of the embedded model; without ``legal`` and players there is nothing to start from."""
    found = {group: {**values} for group, values in DEFAULTS.items()}
    if not has_legal(game) and not game.players:
        found["start"]["tokens"] = 0
    for group, values in game.defaults.items():
        found[group] = {**found.get(group, {}), **values}
    return found
