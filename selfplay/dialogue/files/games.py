"""Files of games: one JSON line per game with tokens, so that training encodes nothing again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

import numpy as np
from pydantic import Field, JsonValue, model_validator

from selfplay.checkpoint.documents import decode_json, parse
from selfplay.checkpoint.store import MAX_FILE_BYTES, write_file
from selfplay.config.base import Group
from selfplay.dialogue.contract import AGREED, CONTEXT, CUT_OFF
from selfplay.dialogue.files.settings import SamplingLine
from selfplay.dialogue.instances import Instance
from selfplay.errors import CorruptError
from selfplay.files import read_file

if TYPE_CHECKING:
    from selfplay.dialogue.files.settings import FileSettings
    from selfplay.dialogue.language.chat import Chat
    from selfplay.dialogue.runner import Played

GAMES: Final = "selfplay_games.jsonl"
SCHEMA_VERSION: Final = 1
Seat = Literal[0, 1]
Token = Annotated[int, Field(ge=0, lt=2**31)]


class TurnLine(Group):
    """A reply, as the game took it."""

    seat: Seat
    text: str
    private: str  # the part that the other seat does not read
    kind: str
    error: str | None  # reason of a refused reply


class OutcomeLine(Group):
    """Outcome of a game."""

    reason: str
    agreed: bool
    rewards: tuple[float, float]  # of the seats, penalties included
    unfinished: str | None  # a reply that was cut off at its token limit; not a turn


class TokensLine(Group):
    """The tokens of one seat."""

    seat: Seat
    ids: tuple[Token, ...]
    sampled: tuple[Literal[0, 1], ...]  # 1: sampled by the model
    logprob: tuple[float, ...]  # of the sampled tokens, of the sampling distribution

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        if len(self.ids) != len(self.sampled):
            raise ValueError(f"{len(self.ids)} ids, but {len(self.sampled)} marks of sampled tokens")
        if len(self.logprob) != sum(self.sampled):
            raise ValueError(f"{sum(self.sampled)} tokens were sampled, but {len(self.logprob)} have a log-probability")
        if self.sampled[:1] == (1,):
            raise ValueError("the first token cannot have been sampled")
        if not all(isfinite(value) and value <= 1e-4 for value in self.logprob):
            raise ValueError("a log-probability is above 0")
        return self


class GameLine(Group):
    """A game from its state to its end."""

    schema_version: Literal[1]
    game_id: Annotated[str, Field(min_length=1, max_length=200)]
    index: Annotated[int, Field(ge=0, lt=2**53)]  # of the initial state
    replica: Annotated[int, Field(ge=0, lt=2**53)]  # number of the game on its state
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    exp_name: str
    model: str
    sampling: SamplingLine
    game: str
    rules: dict[str, JsonValue]
    game_state: dict[str, JsonValue]  # state and log, with dialop's field names
    turns: tuple[TurnLine, ...]
    told: tuple[tuple[str, ...], tuple[str, ...]]  # per seat: its rules, then the observation before each reply
    outcome: OutcomeLine
    tokens: Annotated[tuple[TokensLine, ...], Field(max_length=2)]  # of the seats of models

    @model_validator(mode="after")
    def _told_and_replied(self) -> Self:
        seats = [tokens.seat for tokens in self.tokens]
        if len(set(seats)) != len(seats):
            raise ValueError("a seat has its tokens twice")
        open_replies = int(self.outcome.reason in (CUT_OFF, CONTEXT))  # without a turn
        for seat, told in enumerate(self.told):
            replies = sum(turn.seat == seat for turn in self.turns)
            missing = len(told) - 1 - replies
            if not 0 <= missing <= open_replies:
                raise ValueError(f"seat {seat} was told {len(told) - 1} times and replied {replies} times")
            open_replies -= missing
        return self

    def messages(self, seat: int) -> list[dict[str, str]]:
        """The conversation of a seat, without private text of the other."""
        system, *told = self.told[seat]
        said: list[str] = [turn.text for turn in self.turns if turn.seat == seat]
        if len(told) > len(said) and self.outcome.unfinished is not None:
            said.append(self.outcome.unfinished)
        found = [{"role": "system", "content": system}] if system else []
        for place, observation in enumerate(told):
            found.append({"role": "user", "content": observation})
            found += [{"role": "assistant", "content": text} for text in said[place : place + 1]]
        return found

    def instances(self) -> list[Instance]:
        """Instances for the learner; seats without a reply are left out."""
        found = []
        for line in self.tokens:
            sampled = np.array(line.sampled, np.bool_)
            if not sampled.any():
                continue
            logprob = np.zeros(len(sampled), np.float32)
            logprob[sampled] = line.logprob
            reward = self.outcome.rewards[line.seat]
            found.append(
                Instance(self.index, self.game_id, line.seat, np.array(line.ids, np.int32), sampled, logprob, reward)
            )
        return found


def line_of(played: Played, replica: int, settings: FileSettings, chat: Chat) -> GameLine:
    outcome = played.outcome
    return GameLine(
        schema_version=SCHEMA_VERSION,
        game_id=played.game_id,
        index=played.index,
        replica=replica,
        seed=played.seed,
        exp_name=settings.exp_name,
        model=settings.model,
        sampling=settings.sampling,
        game=settings.game,
        rules=settings.rules,
        game_state=played.record,
        turns=tuple(TurnLine(**asdict(turn)) for turn in played.turns),
        told=played.read,
        outcome=OutcomeLine(
            reason=outcome.reason,
            agreed=outcome.reason == AGREED,
            rewards=outcome.rewards,
            unfinished=_unfinished(played, chat) if outcome.reason == CUT_OFF else None,
        ),
        tokens=tuple(_tokens(instance) for instance in played.instances),
    )


def _tokens(instance: Instance) -> TokensLine:
    return TokensLine(
        seat=_seat(instance.seat),
        ids=tuple(instance.ids.tolist()),
        sampled=tuple(instance.sampled.astype(int).tolist()),
        logprob=tuple(float(str(value)) for value in instance.logprob[instance.sampled]),  # the shortest exact decimal
    )


def _seat(seat: int) -> Seat:
    return 1 if seat else 0


def _unfinished(played: Played, chat: Chat) -> str:
    for instance in played.instances:
        if instance.sampled[-1:].all() and int(instance.ids[-1]) not in chat.ends:
            first = len(instance.sampled) - int(np.argmin(instance.sampled[::-1]))
            return chat.text_of([instance.ids[first:].tolist()])[0]
    return ""


def write_games(path: Path, games: Iterable[GameLine]) -> None:
    write_file(path, "".join(game.model_dump_json() + "\n" for game in games).encode())


def read_games(path: Path) -> tuple[list[GameLine], str]:
    """The games of a file, and its sha256; CorruptError names the line that is invalid."""
    data = read_file(path, MAX_FILE_BYTES)
    games: list[GameLine] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        where = f"{path}:{number}"
        game = parse(GameLine, decode_json(line, where), where, CorruptError)
        if game.game_id in seen:
            raise CorruptError(f"{where}: game {game.game_id} is on line {seen[game.game_id]} already")
        seen[game.game_id] = number
        games.append(game)
    if not games:
        raise CorruptError(f"{path}: no game is in it")
    return games, hashlib.sha256(data).hexdigest()
