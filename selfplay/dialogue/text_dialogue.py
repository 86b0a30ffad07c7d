"""One game of a ``TextGame``, as the trainer plays it.

All that the game returns is checked; errors name the method, and the line of the game's own file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, final

from selfplay.dialogue.contract import AGREED, CONTEXT, CUT_OFF, ENDED, LONG, REFUSED, GameOutcome, JsonObject, Turn
from selfplay.dialogue.replies import ERROR, parse_reply
from selfplay.games.errors import GameError, error_context

if TYPE_CHECKING:
    from selfplay.games.text_game import TextGame

BY_MOVER: Final = (CUT_OFF, CONTEXT)  # ends caused by the mover


@final
class TextDialogue:
    """One game (``DialogueGame``).

    Args:
        game: After ``reset``.
        name: For messages.
        retries: Maximum number of refused replies per turn.
        error_penalty: Subtracted from a seat's reward for each refused reply, and, unless the reward is shared, for a
            reply that never ends.
        loss: The least that an end costs the mover who caused it, unless the reward is shared: otherwise a seat that is
            losing gains by never ending a reply.
        max_turns: Turns that count, of both seats, after which the game ends; None: no limit.
        shared: Whether both seats get the same reward.
        told: Whether the seats read the rules.
        record: Makes the game's ``record``.
    """

    def __init__(
        self,
        game: TextGame,
        name: str,
        *,
        retries: int,
        error_penalty: float,
        loss: float = 0.0,
        max_turns: int | None = None,
        shared: bool,
        told: bool = True,
        record: Callable[[TextDialogue], JsonObject],
    ) -> None:
        self.game = game
        self.outcome: GameOutcome | None = None
        self.turns: list[Turn] = []
        self._name = name
        self._retries = retries
        self._error_penalty = error_penalty
        self._loss = loss
        self._max_turns = max_turns
        self._shared = shared
        self._told = told
        self._record = record
        self._refused = [0, 0]  # replies of each seat
        self._tries = 0  # refused in this turn
        self._taken = 0  # turns that count
        self._unread = [True, True]  # whether a seat has something to read
        self._mover = mover_of(game, name, "reset")

    @property
    def mover(self) -> int:
        """See ``DialogueGame``; of a finished game, the seat that moved last."""
        return self._mover

    def system(self, seat: int) -> str:
        return self._text("rules", seat) if self._told else ""

    def observe(self, seat: int) -> str:
        unread, self._unread[seat] = self._unread[seat], False
        if not unread:
            return ""
        if self._tries and seat == self._mover and self.turns[-1].error is not None:
            return ERROR + self.turns[-1].error
        return self._text("observe", seat)

    def legal(self) -> Sequence[str] | None:
        replies = self._ask("legal", self._mover)
        if replies is None:
            return None
        found = list(replies)
        if not found or not all(isinstance(reply, str) for reply in found):
            self._refuse_result("legal", replies, "a list of at least one str, or None")
        return found

    def act(self, text: str) -> Turn:
        if self.outcome is not None:
            raise GameError(f"{self._name}: the game is over")
        reply = parse_reply(text, self.game.tags)
        result = self._ask("act", reply.public or text)
        error = result if isinstance(result, str) else None
        private = reply.private if self.game.tags else ""
        turn = Turn(self._mover, text, private, reply.kind, error)
        self.turns.append(turn)
        self._unread = [True, True]
        if error is not None:
            self._refused[turn.seat] += 1
            self._tries += 1
            if self._tries > self._retries:
                self._forfeit(REFUSED)
            return turn
        self._tries = 0
        self._taken += 1
        if result is not None:
            self._end(*self._outcome(result))
        elif self._max_turns is not None and self._taken >= self._max_turns:
            self._end((0.0, 0.0), LONG)
        else:
            self._mover = mover_of(self.game, self._name, "act")
        return turn

    def fail(self, reason: str) -> None:
        if self.outcome is not None:
            raise GameError(f"{self._name}: the game is over")
        if reason not in BY_MOVER:
            return self._end((0.0, 0.0), reason)
        if not self._shared:
            self._refused[self._mover] += 1
        self._forfeit(reason)

    def record(self) -> JsonObject:
        return self._record(self)

    def _outcome(self, result: Any) -> tuple[tuple[float, float], str]:  # noqa: ANN401
        """Rewards and the reason of the end, from what ``act`` returned."""
        try:
            first, second, *more = result
            rewards = float(first), float(second)
            (reason,) = more or [AGREED if self._shared else ENDED]
            valid = all(map(math.isfinite, rewards)) and isinstance(reason, str)
        except (TypeError, ValueError):
            valid = False
        if not valid:
            self._refuse_result("act", result, "None, a reason as str, or two finite rewards")
        return rewards, reason

    def _forfeit(self, reason: str) -> None:
        """End the game because of the mover."""
        rewards = [0.0, 0.0]
        if not self._shared:
            rewards[self._mover] = min(0.0, self._error_penalty * self._refused[self._mover] - self._loss)
        self._end((rewards[0], rewards[1]), reason)

    def _end(self, rewards: tuple[float, float], reason: str) -> None:
        first, second = (self._error_penalty * count for count in self._refused)
        self.outcome = GameOutcome((rewards[0] - first, rewards[1] - second), reason)

    def _text(self, method: str, seat: int) -> str:
        text = self._ask(method, seat)
        if not isinstance(text, str):
            self._refuse_result(f"{method}({seat})", text, "a str")
        return text

    def _ask(self, method: str, argument: object) -> Any:  # noqa: ANN401
        with error_context(lambda: f"{self._name}: {method}"):
            return getattr(self.game, method)(argument)

    def _refuse_result(self, call: str, result: object, valid: str) -> NoReturn:
        where = place(self.game, call.partition("(")[0])
        raise GameError(f"{self._name}: {call} returned {result!r}; it must return {valid}{where}")


def begun(make: Callable[[], TextGame], name: str, seed: int) -> TextGame:
    """A game after ``reset``; errors name the method and line."""
    with error_context(lambda: f"{name}: its constructor"):
        game = make()
    with error_context(lambda: f"{name}: reset"):
        game.reset(seed)
    return game


def mover_of(game: TextGame, name: str, method: str) -> int:
    """The seat that replies next; GameError if ``method`` left none."""
    mover = getattr(game, "mover", None)
    if mover not in (0, 1):
        raise GameError(f"{name}: after {method}, mover is {mover!r}; it must be 0 or 1{place(game, method)}")
    return int(mover)


def place(game: TextGame, method: str) -> str:
    """Where a method of a game begins, in brackets; "" if that is not known."""
    code = getattr(getattr(type(game), method, None), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
