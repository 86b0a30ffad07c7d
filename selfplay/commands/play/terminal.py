"""Playing against a policy or a scripted player in the terminal, in games that are no fights."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final, TextIO

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from envs.errors import UnknownNameError
from envs.half_blocks import ansi
from envs.vector import SyncVectorGame
from selfplay.errors import IncompatibleError
from selfplay.policy.recurrent_state import RecurrentState
from selfplay.seeding import derive

if TYPE_CHECKING:
    from envs.api import F32, Actions, Bool
    from envs.game import Game
    from selfplay.policy.policy import Policy

Parts = Sequence[NDArray[np.bool_]]
"""Which choices are legal, for each part of an action."""

Read = Callable[[str], str]
Write = Callable[[str], None]
Size = Callable[[], tuple[int, int]]

LONGEST_LINE: Final = 1000  # characters of an answer
LONGEST_BYTES: Final = 4 * LONGEST_LINE + 4  # a character has at most four
LISTED: Final = 24  # actions that a prompt lists
NUMBERS: Final = 200  # of an observation that are shown
BELOW: Final = 4  # rows of the terminal that a picture leaves free


class _Ended(Exception):
    """The person ended the play."""


@dataclass(slots=True)
class Score:
    """Games of the person so far."""

    won: int = 0
    lost: int = 0
    drawn: int = 0

    def __str__(self) -> str:
        return f"Score: {self.won} won, {self.lost} lost, {self.drawn} drawn."


def play_in_terminal(
    game: Game,
    opponent: Policy | str,
    read: Read,
    write: Write,
    *,
    seed: int,
    seat: int = 0,
    size: Size = shutil.get_terminal_size,
) -> Score:
    """Play one game after the other until the person ends it; the seats swap each time.

    Args:
        game: The game, which the caller closes.
        opponent: A policy, which samples its actions, or the name of a scripted player.
        read: Shows a prompt and returns an answer; EOFError is the end of the input.
        write: Shows lines.
        seed: Of the games and of the opponent's decisions.
        seat: Of the person in the first game.
        size: Columns and rows of the terminal.

    Returns:
        The games that were finished.

    Raises:
        GameError: the game does what no ``Game`` may do, or it has no such scripted player.
        IncompatibleError: the policy has other observations or actions.
    """
    table, score = _Table(game, opponent, read, write, size), Score()
    try:
        for number in count(1):
            write(f"Game {number}: you have seat {seat}, {table.name} has seat {1 - seat}. Type help or quit any time.")
            mine, others = table.play(derive(seed, "game", number), seat)
            result = "won" if mine > others else "lost" if mine < others else "drew"
            score.won += mine > others
            score.lost += mine < others
            score.drawn += mine == others
            write(f"You {result}. Rewards: {mine:g} for you, {others:g} for {table.name}. {score}")
            if not table.wants_another():
                break
            seat = 1 - seat
    except _Ended:
        write(str(score))
    return score


def read_line(prompt: str, out: TextIO, source: TextIO) -> str:
    """A line of ``source``, without its end. Of one that is too long only as much is kept as shows that it is.

    Raises:
        EOFError: there is no more.
    """
    out.write(prompt)
    out.flush()
    line = part = source.buffer.readline(LONGEST_BYTES)
    if not line:
        raise EOFError
    while not part.endswith(b"\n") and (part := source.buffer.readline(LONGEST_BYTES)):
        pass
    return line.decode(source.encoding, "replace").rstrip("\r\n")


class _Table(SyncVectorGame):
    """Where a person plays: a block of one game, which tells what was played and how the game ended."""

    def __init__(self, game: Game, opponent: Policy | str, read: Read, write: Write, size: Size) -> None:
        super().__init__(lambda: game, 1)
        self._game, self._opponent, self._read, self._write, self._size = game, opponent, read, write, size
        self._shown = ""
        if isinstance(opponent, str):
            if opponent not in self.bot_names:
                raise UnknownNameError("scripted player", opponent, self.bot_names)
            self.name = opponent
            return
        self.name, network = opponent.meta.id, opponent.network
        theirs, ours = network.spec.obs_width, self.obs_width
        if (theirs, network.heads.binary, network.heads.sizes) != (ours, 0, self.actions.sizes):
            raise IncompatibleError(
                f"{self.name} takes observations of {theirs} numbers and gives actions of {network.heads.sizes} "
                f"choices; this game has {ours} and {self.actions.sizes}"
            )

    def play(self, seed: int, seat: int) -> tuple[float, float]:
        """The sums of the rewards of an episode: of the person, who has that seat, and of the opponent."""
        opponent, other = self._opponent, 1 - seat
        self._shown, self._seat = "", seat
        self.bots[:] = -1
        if isinstance(opponent, str):
            self.bots[0, other] = self.bot_names.index(opponent)
        else:
            memory, generator = RecurrentState(1), torch.Generator().manual_seed(derive(seed, "opponent"))
        obs = self.reset(np.array([seed], np.uint64))
        while True:
            actions = self.actions.first_legal(self.legal)
            if seat in self._game.to_act():
                actions[0, seat] = self._ask(obs[0, seat], self.legal[0, seat])
            if not isinstance(opponent, str) and (self._acts(other) or opponent.network.memory_width):
                rows = obs[0, other][None], generator, self.legal[0, other][None]
                actions[0, other] = opponent.act(*rows, memory=memory)[0]  # a memory goes on in every step
            batch = self.step(actions)
            if batch.ended[0]:
                mine, others = (float(batch.stats["reward_payoff"][0, s]) for s in (seat, other))
                return mine, others
            obs = batch.obs

    def _acts(self, seat: int) -> bool:
        return seat in self._game.to_act()

    def _step_all(self, actions: Actions) -> tuple[NDArray[np.float64], Bool, Bool]:
        acting = [seat for seat in (self._seat, 1 - self._seat) if self._acts(seat)]
        stepped = super()._step_all(actions)
        if 1 - self._seat in acting:  # else only the person has moved, and knows how
            for seat in acting:
                self._write(
                    f"{'You' if seat == self._seat else self.name}: {self.action_name(actions[0, seat].tolist())}"
                )
        _, terminated, truncated = stepped
        if terminated[0] or truncated[0]:
            self._show(self._lines())
        if truncated[0]:
            self._write(f"The game was ended after {self._steps[0]} steps.")
        return stepped

    def wants_another(self) -> bool:
        """Whether the person wants another game."""
        while (answer := self._answer("Again? [Y/n] ").casefold()) not in ("", "y", "yes"):
            if answer in ("n", "no", "quit"):
                return False
            self._write("Answer y or n.")
        return True

    def _ask(self, obs: F32, legal: Bool) -> Sequence[int]:
        """The action of the person."""
        game = self._game
        view = self._lines()
        if view is None:
            view = np.array2string(obs, threshold=NUMBERS, max_line_width=self._size()[0])
        self._show(view)
        parts = np.split(legal, self._starts[1:])
        names = {game.action_name(action): action for action in np.flatnonzero(legal).tolist()} if self._single else {}
        asked = [part for part in parts if part.sum() > 1] or parts
        valid = ", ".join([*names][:LISTED]) + ", ..." * (len(names) > LISTED) if names else _spans(asked)
        while True:
            answer = self._answer(f"Your action ({valid}): ")
            action = _chosen(answer, names, parts)
            if action is not None and self.actions.allows(legal, action):
                return action
            if answer.casefold() == "quit":
                raise _Ended
            if answer.casefold() == "help":
                self._write(f"Actions: {', '.join(names) or _spans(asked)}. Others: help, quit.")
            else:
                self._write(f"That is no legal action (valid: {valid}; or help, quit).")

    def _answer(self, prompt: str) -> str:
        while True:
            try:
                answer = self._read(prompt)
            except EOFError:
                self._write("")  # the prompt has not ended its line
                raise _Ended from None
            if len(answer) <= LONGEST_LINE:
                return answer.strip()
            self._write(f"An answer has at most {LONGEST_LINE:,} characters.")

    def _lines(self) -> str | None:
        """The game as lines; None where it does not show itself."""
        shown = self.view()
        if shown is None or isinstance(shown, str):
            return shown and shown.rstrip("\n")
        columns, rows = self._size()
        return ansi(fitted(shown, columns, max(rows - BELOW, 1)))

    def _show(self, view: str | None) -> None:
        """Write what has changed."""
        if view is not None and view != self._shown:
            self._write(view)
            self._shown = view


def fitted(picture: NDArray[np.uint8], columns: int, rows: int) -> NDArray[np.uint8]:
    """A picture [H, W, 3] made smaller where it must be: two pixels a row of the terminal, one a column."""
    height, width, _ = picture.shape
    scale = min(columns / width, 2 * rows / height, 1.0)
    to = max(1, int(width * scale)), 2 * max(1, int(height * scale / 2))
    return np.asarray(Image.fromarray(picture).resize(to, Image.Resampling.BOX))


def _chosen(answer: str, names: dict[str, int], parts: Parts) -> Sequence[int] | None:
    """The action that is meant: a name, in any case where only one is alike, or numbers with commas.

    Parts in which there is no choice may be left out.
    """
    if names:
        alike = [answer] if answer in names else [name for name in names if name.casefold() == answer.casefold()]
        return [names[alike[0]]] if len(alike) == 1 else None
    words = [word.strip() for word in answer.split(",")]
    numbers = [int(word) for word in words if word.isdecimal()]
    if len(numbers) != len(words):
        return None
    if len(numbers) < len(parts):
        left = iter(numbers)
        numbers = [next(left, -1) if part.sum() > 1 else int(part.argmax()) for part in parts] + [*left]
    return numbers


def _spans(parts: Parts) -> str:
    """The legal numbers of each part, such as ``0-4,1|3,0``."""
    return ",".join(_span(np.flatnonzero(part).tolist()) for part in parts)


def _span(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    if len(numbers) > 1 and len(numbers) == last - first + 1:
        return f"{first}-{last}"
    return "|".join(map(str, numbers))
