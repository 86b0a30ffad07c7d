"""Replies and turns, as all dialogue games handle them.

The last tag of a reply counts, in any case; the text before it is private.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from selfplay.dialogue.contract import GameOutcome, Turn
from selfplay.games.errors import GameError

ERROR: Final = "Error: "
_TAG: Final = re.compile(r"\[(\w+)\]")


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A parsed reply: ``private``, then the tag's word in lower case, then ``body``."""

    private: str
    kind: str  # "" without a tag
    body: str


def parse_reply(text: str, kinds: tuple[str, ...]) -> ParsedReply:
    """Split a reply at its last tag.

    Args:
        text: The reply.
        kinds: Valid tags; other words in brackets are text.
    """
    found = [tag for tag in _TAG.finditer(text) if tag[1].lower() in kinds]
    if not found:
        return ParsedReply(text.strip(), "", "")
    tag = found[-1]
    return ParsedReply(text[: tag.start()].strip(), tag[1].lower(), text[tag.end() :].strip())


def is_refusal(observation: str) -> bool:
    """Return True if an observation says why the last reply was refused."""
    return observation.startswith(ERROR)


class TurnGame:
    """Base of a ``DialogueGame``.

    Args:
        retries: Maximum number of refused replies per turn.
        error_penalty: Subtracted from a seat's reward for each refused reply.
        openings: First observation of each seat.
    """

    name: ClassVar[str]  # for messages

    def __init__(self, retries: int, error_penalty: float, openings: list[str]) -> None:
        self.outcome: GameOutcome | None = None
        self.turns: list[Turn] = []
        self._retries = retries
        self._error_penalty = error_penalty
        self._refused = [0, 0]  # replies of each seat
        self._tries = 0  # refused in this turn
        self._unseen = [[text] for text in openings]  # texts that each seat has not seen yet

    def observe(self, seat: int) -> str:
        texts, self._unseen[seat] = self._unseen[seat], []
        return "\n".join(texts)

    def _check_running(self) -> None:
        if self.outcome is not None:
            raise GameError(f"{self.name}: the game is over")

    def _refuse(self, seat: int, error: str) -> bool:
        """Refuse a reply; returns whether the seat has no tries left."""
        self._unseen[seat].append(ERROR + error)
        self._refused[seat] += 1
        self._tries += 1
        return self._tries > self._retries

    def _end(self, rewards: tuple[float, float], reason: str) -> None:
        first, second = (self._error_penalty * count for count in self._refused)
        self.outcome = GameOutcome((rewards[0] - first, rewards[1] - second), reason)
