"""Plays many dialogue games at once, with one batched request per writer and round.

A reply is text for the game and token ids for the learner; neither is derived from the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from envs.dialogue.contract import CONTEXT, CUT_OFF, FAILED, DialogueGame, JsonObject, Scripted, Turn, Verdict
from selfplay.errors import InjectedFaultError, describe
from selfplay.policy.language.conversation import Conversation, Reply, Writer
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.rollout.dialogue import Instance

NOT_FINITE: Final = "a reward or a log-probability is not finite"

ScriptedMaker = Callable[[int], Scripted]
"""A scripted player for one game, by seed."""
Player = Writer | ScriptedMaker


@dataclass(frozen=True, slots=True)
class GameSpec:
    """A game to be played."""

    index: int  # of the initial state
    game_id: str
    game: DialogueGame
    seed: int
    players: tuple[Player, Player]


@dataclass(frozen=True, slots=True)
class Played:
    """A game that has come to its end."""

    index: int
    game_id: str
    seed: int
    verdict: Verdict
    turns: tuple[Turn, ...]
    record: JsonObject
    read: tuple[tuple[str, ...], tuple[str, ...]]  # what each seat was told: its rules, then before each reply
    instances: tuple[Instance, ...]  # of the seats that a writer played


@dataclass(frozen=True, slots=True)
class Lost:
    """A game that raised, or that a reply could not be had for."""

    game_id: str
    why: str


@dataclass(slots=True, eq=False)
class _Seat:
    """One side of a game."""

    player: Player
    system: str
    conversation: Conversation | None = None
    scripted: Scripted | None = None
    read: list[str] = field(default_factory=list)


class _Table:
    """A game with its two sides."""

    def __init__(self, fixture: GameSpec) -> None:
        self.fixture = fixture
        self.game = fixture.game
        self.seats = [_Seat(player, fixture.game.system(seat)) for seat, player in enumerate(fixture.players)]
        self.lost: str | None = None

    @property
    def over(self) -> bool:
        return self.lost is not None or self.game.verdict is not None

    @property
    def seat(self) -> _Seat:
        """Whose turn it is."""
        return self.seats[self.game.mover]

    def take(self, reply: Reply) -> None:
        """A writer's reply."""
        if reply.lost is not None:
            self.lost = reply.lost
        elif not reply.room:
            self.game.fail(CONTEXT)
        elif not reply.ended:
            self.game.fail(CUT_OFF)
        else:
            self.game.act(reply.text)

    def result(self) -> Played | Lost:
        fixture, verdict = self.fixture, self.game.verdict
        if self.lost is not None or verdict is None:
            return Lost(fixture.game_id, self.lost or FAILED)
        instances = tuple(
            instance
            for number, seat in enumerate(self.seats)
            if seat.conversation is not None
            for instance in seat.conversation.instances(fixture.index, fixture.game_id, number, verdict.rewards[number])
        )
        told = (instance.logprob for instance in instances)  # NaN says that one is not known
        if not all(map(math.isfinite, verdict.rewards)) or any(np.isinf(logprob).any() for logprob in told):
            return Lost(fixture.game_id, NOT_FINITE)
        read = tuple((seat.system, *seat.read) for seat in self.seats)
        return Played(
            fixture.index, fixture.game_id, fixture.seed, verdict, tuple(self.game.turns), self.game.record(),
            (read[0], read[1]), instances,
        )  # fmt: skip


def play_games(fixtures: Sequence[GameSpec], cancelled: Callable[[], bool] = lambda: False) -> list[Played | Lost]:
    """Play them all to their ends; results in their order, of those that have ended when it is cancelled."""
    tables = [_Table(fixture) for fixture in fixtures]
    try:
        while not cancelled() and (running := [table for table in tables if not table.over]):
            waiting: dict[int, list[_Table]] = {}
            for table in running:
                waiting.setdefault(id(table.seat.player), []).append(table)
            for asked in waiting.values():
                _ask(asked)
    finally:
        _close(tables)
    return [table.result() for table in tables if table.over]


def _ask(tables: list[_Table]) -> None:
    """One player's turn in all games that wait for it."""
    player = tables[0].seat.player
    if callable(player):
        for table in tables:
            _guarded(table, partial(_ask_scripted, table, player))
        return
    going_on: list[_Table] = []
    for table in tables:
        _guarded(table, partial(_listen, table, player, going_on))
    if going_on:
        pairs = [(table.seat.conversation, table.seat.read[-1]) for table in going_on]
        player.go_on([c for c, _ in pairs if c is not None], [text for _, text in pairs])
    asked = [(table, table.seat.conversation) for table in tables if table.lost is None]
    replies = player.reply([conversation for _, conversation in asked if conversation is not None])
    for (table, _), reply in zip(asked, replies, strict=True):
        _guarded(table, partial(table.take, reply))


def _listen(table: _Table, player: Writer, going_on: list[_Table]) -> None:
    seat = table.seat
    seat.read.append(table.game.observe(table.game.mover))
    if seat.conversation is None:
        seed = derive(table.fixture.seed, "words", table.game.mover)
        seat.conversation = player.open(seed, seat.system, seat.read[0])
    else:
        going_on.append(table)


def _ask_scripted(table: _Table, player: ScriptedMaker) -> None:
    seat = table.seat
    if seat.scripted is None:
        seat.scripted = player(derive(table.fixture.seed, "scripted", table.game.mover))
    seat.read.append(table.game.observe(table.game.mover))
    table.game.act(seat.scripted.reply(seat.read[-1]))


def _guarded(table: _Table, step: Callable[[], object]) -> None:
    """A game that raises is lost, and no other with it; an injected fault fails them all."""
    try:
        step()
    except InjectedFaultError:
        raise
    except Exception as error:
        table.lost = describe(error)


def _close(tables: Sequence[_Table]) -> None:
    for table in tables:
        for seat in table.seats:
            if seat.conversation is not None and not callable(seat.player):
                seat.player.close([seat.conversation])
