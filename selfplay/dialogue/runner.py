"""Plays many dialogue games at once, with one batched request per writer and round.

A reply is text for the game and token ids for the learner; neither is derived from the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from selfplay.dialogue.contract import (
    CONTEXT,
    CUT_OFF,
    FAILED,
    SEATS,
    DialogueGame,
    GameOutcome,
    JsonObject,
    ScriptedPlayer,
    Turn,
    written,
)
from selfplay.dialogue.language.conversation import Conversation, Reply, Writer
from selfplay.dialogue.tally import Tally
from selfplay.errors import InjectedFaultError, RunnerError, describe
from selfplay.league.modes import CURRENT
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.dialogue.contract import DialogueEntry, Rules
    from selfplay.dialogue.instances import Instance

BOTH: Final = tuple(range(SEATS))
NOT_FINITE: Final = "a reward or a log-probability is not finite"

ScriptedMaker = Callable[[int], ScriptedPlayer]
"""A scripted player for one game, by seed."""
Player = Writer | ScriptedMaker


@dataclass(frozen=True, slots=True)
class GameSpec:
    """A game to play."""

    index: int  # of the initial state
    game_id: str
    game: DialogueGame
    seed: int
    players: tuple[Player, Player]
    learner: tuple[int, ...] = BOTH  # seats whose rows are kept
    opponent: str = CURRENT  # player of the other seat, if any


@dataclass(frozen=True, slots=True)
class Played:
    """A finished game."""

    index: int
    game_id: str
    seed: int
    outcome: GameOutcome
    turns: tuple[Turn, ...]
    record: JsonObject
    read: tuple[tuple[str, ...], tuple[str, ...]]  # texts that each seat read: its rules, then one before each reply
    instances: tuple[Instance, ...]  # of the learner's seats, if writers have them
    learner: tuple[int, ...] = BOTH
    opponent: str = CURRENT


@dataclass(frozen=True, slots=True)
class Lost:
    """A game that failed: it raised, or a writer failed."""

    game_id: str
    why: str


@dataclass(slots=True, eq=False)
class _Seat:
    """One seat of a running game."""

    player: Player
    system: str
    conversation: Conversation | None = None
    scripted: ScriptedPlayer | None = None
    read: list[str] = field(default_factory=list)


class _RunningGame:
    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self.game = spec.game
        self.seats = [_Seat(player, spec.game.system(seat)) for seat, player in enumerate(spec.players)]
        self.lost: str | None = None

    @property
    def over(self) -> bool:
        return self.lost is not None or self.game.outcome is not None

    @property
    def seat(self) -> _Seat:
        return self.seats[self.game.mover]

    def observe(self) -> str:
        self.seat.read.append(self.game.observe(self.game.mover))
        return self.seat.read[-1]

    def take(self, reply: Reply) -> None:
        if reply.lost is not None:
            self.lost = reply.lost
        elif not reply.room:
            self.game.fail(CONTEXT)
        elif not reply.ended:
            self.game.fail(CUT_OFF)
        else:
            self.game.act(reply.text)

    def result(self) -> Played | Lost:
        spec, outcome = self.spec, self.game.outcome
        if self.lost is not None or outcome is None:
            return Lost(spec.game_id, self.lost or FAILED)
        instances = tuple(
            instance
            for number, seat in enumerate(self.seats)
            if seat.conversation is not None and number in spec.learner
            for instance in seat.conversation.instances(spec.index, spec.game_id, number, outcome.rewards[number])
        )
        logprobs = (instance.logprob for instance in instances)  # NaN: not known
        if not all(map(math.isfinite, outcome.rewards)) or any(np.isinf(logprob).any() for logprob in logprobs):
            return Lost(spec.game_id, NOT_FINITE)
        first, second = ((seat.system, *seat.read) for seat in self.seats)
        return Played(
            spec.index, spec.game_id, spec.seed, outcome, tuple(self.game.turns), self.game.record(), (first, second),
            instances, spec.learner, spec.opponent,
        )  # fmt: skip


def play_games(
    specs: Sequence[GameSpec], cancelled: Callable[[], bool] = lambda: False, tally: Tally | None = None
) -> list[Played | Lost]:
    """Play all games to their ends; results in their order. If cancelled, only of the games that have ended."""
    games = [_RunningGame(spec) for spec in specs]
    try:
        while not cancelled() and (running := [game for game in games if not game.over]):
            if tally is not None:
                tally.games = len(games) - len(running)
            by_player: dict[int, list[_RunningGame]] = {}
            for game in running:
                by_player.setdefault(id(game.seat.player), []).append(game)
            for waiting in by_player.values():
                _move(waiting)
    finally:
        for seat in (seat for game in games for seat in game.seats):
            if seat.conversation is not None and not callable(seat.player):
                seat.player.close([seat.conversation])
    return [game.result() for game in games if game.over]


def _move(games: list[_RunningGame]) -> None:
    """One player's turn in all games that wait for it."""
    player = games[0].seat.player
    if callable(player):
        for game in games:
            _guarded(game, partial(_move_scripted, game, player))
        return
    going_on: list[tuple[Conversation, str]] = []
    for game in games:
        _guarded(game, partial(_observe, game, player, going_on))
    if going_on:
        player.go_on([conversation for conversation, _ in going_on], [text for _, text in going_on])
    waiting = [(game, game.seat.conversation) for game in games if game.lost is None]
    replies = player.reply([conversation for _, conversation in waiting if conversation is not None])
    for (game, _), reply in zip(waiting, replies, strict=True):
        _guarded(game, partial(game.take, reply))


def _observe(game: _RunningGame, player: Writer, going_on: list[tuple[Conversation, str]]) -> None:
    seat, text = game.seat, game.observe()
    if seat.conversation is None:
        seat.conversation = player.open(derive(game.spec.seed, "words", game.game.mover), seat.system, text)
    else:
        going_on.append((seat.conversation, text))


def _move_scripted(game: _RunningGame, player: ScriptedMaker) -> None:
    seat = game.seat
    if seat.scripted is None:
        seat.scripted = player(derive(game.spec.seed, "scripted", game.game.mover))
    game.game.act(written(seat.scripted, game.observe(), game.game))


def _guarded(game: _RunningGame, step: Callable[[], object]) -> None:
    """An error loses one game; an injected fault fails all."""
    try:
        step()
    except InjectedFaultError:
        raise
    except Exception as error:
        game.lost = describe(error)


@dataclass(frozen=True, slots=True)
class DialogueOrder:
    """Games to play: a number of them on each initial state."""

    indices: tuple[int, ...]  # of the states in the run
    seeds: tuple[int, ...]  # of the states
    games_each: int
    opponents: tuple[str, ...] = ()  # in the games on each state; empty: the learner has both seats of all games


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


@dataclass(slots=True, eq=False)
class DialogueCollector:
    """Plays orders with one writer in both seats, or against opponents (``Resource``)."""

    entry: DialogueEntry
    rules: Rules
    writer: Writer
    open_opponent: Callable[[str], Player] | None = None  # by name
    _servers: dict[str, Writer] = field(default_factory=dict)  # opponents that are asked by requests, for all orders
    _cancelled: bool = False

    @property
    def progress(self) -> int:
        return sum(writer.progress for writer in self._remote)

    @property
    def _remote(self) -> tuple[Writer, ...]:
        return (self.writer, *self._servers.values())

    def collect(self, order: DialogueOrder, tally: Tally | None = None) -> list[Played | Lost]:
        """Play an order to its end. Blocks."""
        self.writer.tally = tally or Tally()
        games = game_specs(self.entry, self.rules, order, (self.writer, self.writer))
        players = {name: self._player(name) for name in set(order.opponents)}
        opponents = dict(zip(order.indices, order.opponents, strict=False))
        seeds = dict(zip(order.indices, order.seeds, strict=True))
        for i, game in enumerate(games):
            name = opponents.get(game.index, CURRENT)
            if name != CURRENT:
                games[i] = against(game, name, players[name], learner_seat(seeds[game.index]))
        return play_games(games, lambda: self._cancelled, self.writer.tally)

    def _player(self, name: str) -> Player:
        if name == CURRENT:
            return self.writer
        if name in self._servers:
            return self._servers[name]
        if self.open_opponent is None:
            raise RunnerError(f"{name} cannot play here")
        player = self.open_opponent(name)
        if isinstance(player, Writer) and player.interruptible:
            self._servers[name] = player
        return player

    def cancel(self) -> None:
        self._cancelled = True
        for writer in self._remote:
            writer.cancel()

    def kill(self) -> bool:
        """A thread cannot be killed: it stops at its next round, or at once if it waits for a server."""
        self.cancel()
        return self.writer.interruptible

    def close(self) -> None:
        for writer in self._remote:
            writer.disconnect()


def learner_seat(state_seed: int) -> int:
    """The learner's seat in all games on a state against another player, which are one group."""
    return derive(state_seed, "seat") % 2


def against(game: GameSpec, name: str, opponent: Player, seat: int) -> GameSpec:
    """The game with an opponent in the other seat than ``seat``."""
    first, second = game.players
    players = (first, opponent) if seat == 0 else (opponent, second)
    return replace(game, players=players, learner=(seat,), opponent=name)
