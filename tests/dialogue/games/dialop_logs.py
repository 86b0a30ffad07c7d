"""Finished matching games from dialop's logs, played by people or by models: checked, with rewards recomputed.

In dialop's interface a player could write twice in a row; consecutive entries of a player are one turn here. An
assignment is read from its ids; names are checked only where they are those of this project.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from selfplay.games.errors import GameError
from selfplay.games.files import parse_json
from selfplay_dialogue.states import REVIEWERS, MatchingRules, MatchingState
from selfplay_dialogue.texts import Pairs, parse_proposal

OTHER_NAMES = "other names of reviewers or papers"
TWICE = "entries of a player that follow on another one of its own"

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """Consecutive entries of one player: an answer, messages and a proposal, in this order."""

    seat: int
    accepts: bool | None = None  # the proposal that was open; None: it does not answer
    messages: tuple[str, ...] = ()
    proposal: Pairs | None = None  # the last one


@dataclass(frozen=True, slots=True)
class LoggedGame:
    """A finished game."""

    state: MatchingState
    turns: tuple[SaidTurn, ...]
    agreed: Pairs | None
    reward: float  # what was agreed on, as a share of the best assignment; 0 without agreement
    notes: tuple[str, ...]  # in what it differs from games of this project, once for each time


def read_games(lines: Iterable[str]) -> tuple[list[LoggedGame], Counter[str]]:
    """Games, one JSON document a line, and counts of their differences from our own games by kind.

    Raises:
        GameError: a line is no such game, or its numbers do not agree; names the line and the place in it.
    """
    games = []
    for count, line in enumerate(lines, 1):
        try:
            games.append(read_game(parse_json(line)))
        except ValueError as error:
            raise GameError(f"line {count}: not JSON") from error
        except GameError as error:
            raise GameError(f"line {count}: {error}") from error
    return games, Counter(note for game in games for note in game.notes)


def read_game(document: object) -> LoggedGame:
    """A game from its JSON.

    Raises:
        GameError: it is no such game, or its entries contradict each other.
    """
    state = MatchingState.from_json(document)
    log = document.get("action_log") if isinstance(document, dict) else None
    if not isinstance(log, list):
        raise GameError("action_log: must be a list")
    reader = _Reader(state)
    for place, entry in enumerate(log):
        try:
            reader.read(entry)
        except GameError as error:
            raise GameError(f"action_log[{place}]: {error}") from error
    worth = state.worth(reader.agreed) if reader.agreed is not None else 0.0
    if isinstance(document, dict) and document.get("proposal_reward", worth) != worth:
        raise GameError(
            f"proposal_reward is {document['proposal_reward']!r}, but what was agreed on is worth {worth:g}"
        )
    return LoggedGame(state, reader.turns(), reader.agreed, worth / state.best, tuple(reader.notes))


class _Reader:
    """Reads a log entry by entry."""

    def __init__(self, state: MatchingState) -> None:
        self._rules = MatchingRules(size=len(state.table))
        self._open: tuple[int, Pairs] | None = None  # seat and pairs of the open proposal
        self._parts: list[SaidTurn] = []
        self.agreed: Pairs | None = None
        self.notes: list[str] = []

    def read(self, entry: object) -> None:
        """One entry."""
        if self.agreed is not None:
            raise GameError("something follows on the agreement")
        match entry:
            case {"player": 0 | 1 as seat, "type": "message", "message": {"data": str(text), "from_player": author}}:
                part = SaidTurn(seat, messages=(text,))
            case {"player": 0 | 1 as seat, "type": "proposal", "proposal": str(text), "proposal_ids": ids}:
                author, part = seat, SaidTurn(seat, proposal=self._propose(seat, text, ids))
            case {"player": 0 | 1 as seat, "type": "proposal_response", "response": {"accept": bool(accepts), **rest}}:
                author, part = rest.get("from_player", seat), SaidTurn(seat, self._answer(seat, accepts))
            case _:
                raise GameError("no message, proposal or proposal_response of player 0 or 1 as dialop writes them")
        if author != seat:
            raise GameError(f"player is {seat}, from_player {author!r}")
        if self._parts and self._parts[-1].seat == seat:
            self.notes.append(TWICE)
        self._parts.append(part)

    def turns(self) -> tuple[SaidTurn, ...]:
        """Everything read so far, by turns."""
        return tuple(_merged(seat, list(parts)) for seat, parts in groupby(self._parts, lambda part: part.seat))

    def _propose(self, seat: int, text: str, ids: object) -> Pairs:
        pairs = _pairs(ids, self._rules.size)
        named = parse_proposal(text, self._rules)
        if not isinstance(named, str):
            if set(named) != set(pairs):
                raise GameError("proposal and proposal_ids are different assignments")
        elif any(name in text for name in REVIEWERS[: self._rules.size]):
            raise GameError(f"proposal: {named}")
        else:
            self.notes.append(OTHER_NAMES)
        self._open = (seat, pairs)
        return pairs

    def _answer(self, seat: int, accepts: bool) -> bool:
        if self._open is None:
            raise GameError("there is no proposal to answer")
        proposer, pairs = self._open
        if proposer == seat:
            raise GameError("a player answers its own proposal")
        self._open = None
        self.agreed = pairs if accepts else None
        return accepts


def _pairs(ids: object, size: int) -> Pairs:
    """(reviewer, paper) of a written list of pairs."""
    pairs = tuple(tuple(pair) if isinstance(pair, list) else () for pair in ids) if isinstance(ids, list) else ()
    whole = all(len(pair) == 2 and all(type(side) is int for side in pair) for pair in pairs)
    if not whole or any(sorted(side) != list(range(size)) for side in zip(*pairs, strict=True)) or len(pairs) != size:
        raise GameError(f"proposal_ids must be {size} pairs that name every reviewer and every paper once")
    return tuple((reviewer, paper) for reviewer, paper in pairs)


def _merged(seat: int, parts: list[SaidTurn]) -> SaidTurn:
    answers = [part.accepts for part in parts if part.accepts is not None]
    proposals = [part.proposal for part in parts if part.proposal is not None]
    said = tuple(text for part in parts for text in part.messages)
    return SaidTurn(seat, answers[0] if answers else None, said, proposals[-1] if proposals else None)
