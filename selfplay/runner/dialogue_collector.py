"""Collects dialogue games: plays the orders of a runner with the model's writer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from selfplay.policy.language.remote import RemoteWriter
from selfplay.runner.dialogue import Fixture, Lost, Played, Player, play_games
from selfplay.seeding import derive

if TYPE_CHECKING:
    from envs.dialogue.contract import DialogueEntry, Rules
    from selfplay.policy.language.conversation import Writer


@dataclass(frozen=True, slots=True)
class Order:
    """Games to be played: so many on each of some initial states."""

    indices: tuple[int, ...]  # of the states in the run
    seeds: tuple[int, ...]  # of the states
    games_each: int


def fixtures(
    entry: DialogueEntry,
    rules: Rules,
    order: Order,
    players: tuple[Player, Player],
    *names: str | int,
) -> list[Fixture]:
    """The games of an order; their luck follows from the state's seed, the names and the game's number on the state."""
    states = entry.states(rules, order.seeds)
    return [
        Fixture(index, f"{index}-{game}", entry.start(rules, state), derive(seed, "game", *names, game), players)
        for index, seed, state in zip(order.indices, order.seeds, states, strict=True)
        for game in range(order.games_each)
    ]


class DialogueCollector:
    """Plays orders with one writer in both seats (``Resource``).

    Args:
        entry: The game.
        rules: Its settings.
        make_writer: Called once, in the runner's thread.
    """

    def __init__(self, entry: DialogueEntry, rules: Rules, make_writer: Callable[[], Writer]) -> None:
        self._entry = entry
        self._rules = rules
        self._make_writer = make_writer
        self._cancelled = False

    @cached_property
    def writer(self) -> Writer:
        """Who plays both seats."""
        return self._make_writer()

    def collect(self, order: Order) -> list[Played | Lost]:
        """Play an order to its end. Blocks."""
        games = fixtures(self._entry, self._rules, order, (self.writer, self.writer))
        return play_games(games, self._is_cancelled)

    def _is_cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        """See ``Resource``."""
        self._cancelled = True
        if self._remote is not None:
            self._remote.cancel()

    def kill(self) -> bool:
        """A thread cannot be killed: it stops at its next round, or at once where it waits for a server."""
        self.cancel()
        return self._remote is not None

    def close(self) -> None:
        """See ``Resource``."""
        if self._remote is not None:
            self._remote.disconnect()

    @property
    def _remote(self) -> RemoteWriter | None:
        """The writer, once it is made, if it asks a server."""
        made = self.__dict__.get("writer")
        return made if isinstance(made, RemoteWriter) else None
