"""Fault injection in dialogue games (see ``chaos``): a wrapper around a game's entry."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from selfplay.dialogue.contract import GameOutcome
from selfplay.runner.chaos import Fault, FaultPlan, OnFault, strike

if TYPE_CHECKING:
    from selfplay.dialogue.contract import DialogueEntry, DialogueGame, Rules, State


def faulty(entry: DialogueEntry, plan: FaultPlan, on_fault: OnFault, pid: int | None = None) -> DialogueEntry:
    """An entry whose games have planned faults: at most one an order of games, for which ``states`` is called once.

    ``on_fault`` is called when a fault strikes. ``hang`` stops the process ``pid``, ``kill`` kills it.
    """
    orders = _Orders(entry, plan, lambda fault: strike(fault, on_fault, pid, "the games", time.sleep))
    return replace(entry, states=orders.states, start=orders.start)


class _Orders:
    """Wraps the game of each order in which the fault strikes: the first game on a state that is drawn."""

    def __init__(self, entry: DialogueEntry, plan: FaultPlan, strike: Callable[[Fault], None]) -> None:
        self._entry = entry
        self._plan = plan
        self._strike = strike
        self._orders = 0  # so far
        self._fault: Fault | None = None  # of this order
        self._state: State = None  # with this one

    def states(self, rules: Rules, seeds: Sequence[int]) -> list[State]:
        """See ``DialogueEntry.states``; an order of games begins."""
        states = self._entry.states(rules, seeds)
        self._fault = self._plan.draw(self._orders)
        self._orders += 1
        if self._fault is not None:
            self._state = states[self._fault.step(len(states))]
        return states

    def start(self, rules: Rules, state: State) -> DialogueGame:
        game = self._entry.start(rules, state)
        if self._fault is None or state is not self._state:
            return game
        fault, self._fault = self._fault, None
        return cast("DialogueGame", _FaultyDialogue(game, fault, self._strike))


class _FaultyDialogue:
    """A game in which one fault strikes; everything else is the game's."""

    def __init__(self, game: DialogueGame, fault: Fault, strike: Callable[[Fault], None]) -> None:
        self._game = game
        self._fault = fault
        self._strike = strike
        self._struck = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._game, name)

    def observe(self, seat: int) -> str:
        if self._fault.kind != "nan":  # at the first move: a refused reply may end the game with it
            self._strike_once()
        return self._game.observe(seat)

    @property
    def outcome(self) -> GameOutcome | None:
        found = self._game.outcome
        if found is None or self._fault.kind != "nan":
            return found
        self._strike_once()
        return GameOutcome((math.nan, found.rewards[1]), found.reason)

    def _strike_once(self) -> None:
        if not self._struck:
            self._struck = True
            self._strike(self._fault)
