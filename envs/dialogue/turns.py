"""The turns, observations and refusals that the dialogue games share."""

from __future__ import annotations

from typing import ClassVar

from envs.dialogue.contract import Turn, Verdict
from envs.dialogue.parsing import refused
from envs.errors import GameError


class TurnGame:
    """Base of a ``DialogueGame``.

    Args:
        retries: Refused replies that a turn may have.
        error_penalty: Taken from a seat's reward for each refused reply.
        openings: First observation of each seat.
    """

    name: ClassVar[str]  # for messages

    def __init__(self, retries: int, error_penalty: float, openings: list[str]) -> None:
        self.verdict: Verdict | None = None
        self.turns: list[Turn] = []
        self._retries = retries
        self._error_penalty = error_penalty
        self._refused = [0, 0]  # replies of each seat
        self._tries = 0  # refused in this turn
        self._unseen = [[text] for text in openings]  # texts that each seat has not seen yet

    def observe(self, seat: int) -> str:
        """See ``DialogueGame``."""
        texts, self._unseen[seat] = self._unseen[seat], []
        return "\n".join(texts)

    def _check_running(self) -> None:
        if self.verdict is not None:
            raise GameError(f"{self.name}: the game is over")

    def _refuse(self, seat: int, error: str) -> bool:
        """Refuse a reply; whether the seat has used all its tries."""
        self._unseen[seat].append(refused(error))
        self._refused[seat] += 1
        self._tries += 1
        return self._tries > self._retries

    def _end(self, rewards: tuple[float, float], reason: str) -> None:
        first, second = (self._error_penalty * count for count in self._refused)
        self.verdict = Verdict((rewards[0] - first, rewards[1] - second), reason)
