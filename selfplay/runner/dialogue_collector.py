"""Collects dialogue games: plays the orders of a runner with the model's writer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from selfplay.runner.dialogue import GameSpec, Lost, Played, Player, play_games
from selfplay.seeding import derive

if TYPE_CHECKING:
    from envs.dialogue.contract import DialogueEntry, Rules
    from selfplay.policy.language.conversation import Writer


@dataclass(frozen=True, slots=True)
class DialogueOrder:
    """Games to play: a number of them on each initial state."""

    indices: tuple[int, ...]  # of the states in the run
    seeds: tuple[int, ...]  # of the states
    games_each: int


def game_specs(
    entry: DialogueEntry, rules: Rules, order: DialogueOrder, players: tuple[Player, Player], *names: str | int
) -> list[GameSpec]:
    """The games of an order. A game's seed is a hash of the state's seed, the names and its number on the state."""
    states = entry.states(rules, order.seeds)
    return [
        GameSpec(index, f"{index}-{game}", entry.start(rules, state), derive(seed, "game", *names, game), players)
        for index, seed, state in zip(order.indices, order.seeds, states, strict=True)
        for game in range(order.games_each)
    ]


class DialogueCollector:
    """Plays orders with one writer in both seats (``Resource``)."""

    def __init__(self, entry: DialogueEntry, rules: Rules, writer: Writer) -> None:
        self._entry = entry
        self._rules = rules
        self._writer = writer
        self._cancelled = False

    @property
    def progress(self) -> int:
        return self._writer.progress

    def collect(self, order: DialogueOrder) -> list[Played | Lost]:
        """Play an order to its end. Blocks."""
        games = game_specs(self._entry, self._rules, order, (self._writer, self._writer))
        return play_games(games, lambda: self._cancelled)

    def cancel(self) -> None:
        self._cancelled = True
        self._writer.cancel()

    def kill(self) -> bool:
        """A thread cannot be killed: it stops at its next round, or at once if it waits for a server."""
        self.cancel()
        return self._writer.interruptible

    def close(self) -> None:
        self._writer.disconnect()
