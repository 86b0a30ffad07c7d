"""Playing against a policy or a scripted player in the terminal."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from selfplay.errors import ConfigError
from selfplay.evaluation.players import home_rules
from selfplay.games.registry import find_game
from selfplay.games.vector import RANDOM, SyncVectorGame
from selfplay.half_blocks import ansi
from selfplay.league.schedule import Matchup
from selfplay.runner.match import Contender, play_in
from selfplay.seeding import derive

if TYPE_CHECKING:
    from selfplay.games.api import Actions, Bool
    from selfplay.games.game import Game
    from selfplay.games.objective import Objective

Read = Callable[[str], str]
Write = Callable[[str], None]

YOU: Final = "you"
LISTED: Final = 24  # actions that a prompt lists
BELOW: Final = 4  # rows of the terminal that a picture leaves free


def play_in_terminal(game: str, opponent: Contender, read: Read, write: Write, *, seed: int, seat: int = 0) -> None:
    """Play one game after the other until the person ends it; the seats swap each time, from ``seat`` on.

    ``read`` shows a prompt and returns an answer; EOFError is the end of the input. ``seed`` is of the games and of the
    decisions of the opponent; a policy samples its actions. ConfigError if no person can play the game.
    """
    single = find_game(game).single
    if single is None:
        raise ConfigError(f"{game} has no game that a person could play")
    name = opponent.id if opponent.policy is None else opponent.policy.meta.id
    table, results, total = _Table(single(), name, read, write), Counter[str](), 0.0
    objective = find_game(game).objective
    rules = home_rules([opponent], game)
    players = {YOU: Contender(RANDOM), name: opponent}  # the table asks the person in place of the scripted player
    try:
        for number in count(1):
            yours, theirs = (_seat(table.games[0], each) for each in (seat, 1 - seat))
            write(f"Game {number}: you have {yours}, {name} has {theirs}. Type quit any time.")
            table.seat = seat
            pair = (YOU, name) if seat == 0 else (name, YOU)
            played = play_in(table, [Matchup(pair, seed=derive(seed, "game", number))], players, rules)[0]
            mine, others = (played.stats["reward_payoff"][s] for s in (seat, 1 - seat))
            result = "won" if mine > others else "lost" if mine < others else "drew"
            results[result] += 1
            total += mine
            ended = "The game is over" if objective.kind == "shared" else f"You {result}"
            write(f"{ended}. Rewards: {mine:g} for you, {others:g} for {name}. {_score(results, total, objective)}")
            if read("Again? [Y/n] ").strip().casefold() in ("n", "no", "quit"):
                break
            seat = 1 - seat
    except EOFError:
        write(f"\n{_score(results, total, objective)}")
    finally:
        table.close()


def _seat(game: Game, seat: int) -> str:
    return f"seat {seat}" + "".join(f" ({name})" for name in game.seat_names[seat : seat + 1])


def _score(results: Counter[str], total: float, objective: Objective) -> str:
    if objective.kind == "shared":
        return f"Together: {total:g} {objective.unit} in {results.total()} games."
    paid = f", {total:+g} {objective.unit}" if objective.by_payoff else ""
    return f"Score: {results['won']} won, {results['lost']} lost, {results['drew']} drawn{paid}."


class _Table(SyncVectorGame):
    """Block of one game that asks a person for actions and prints the opponent's."""

    seat = 0  # of the person

    def __init__(self, game: Game, name: str, read: Read, write: Write) -> None:
        super().__init__(lambda: game, 1)
        self._name, self._read, self._write = name, read, write

    def _bot_action(self, b: int, seat: int) -> NDArray[np.integer[Any]]:
        return self._ask() if seat == self.seat else super()._bot_action(b, seat)

    def _step_all(self, actions: Actions) -> tuple[NDArray[np.float64], Bool, Bool]:
        other = 1 - self.seat
        acts = other in self.games[0].to_act()
        name = (
            self.action_name(actions[0, other].tolist()) if acts else ""
        )  # before the step: it may depend on the state
        stepped = super()._step_all(actions)
        if acts:
            self._write(f"{self._name}: {name}")
        _, terminated, truncated = stepped
        if (terminated[0] or truncated[0]) and (view := self._lines()) is not None:
            self._write(view)
        if truncated[0]:
            self._write(f"The game was ended after {self._steps[0]} steps.")
        return stepped

    def _ask(self) -> Actions:
        """The legal action that the person chooses, EOFError to end; parts without a choice are not asked for."""
        legal, shown = self.legal[0, self.seat], self._lines()
        self._write(str(self._obs[0, self.seat]) if shown is None else shown)
        parts = [np.flatnonzero(part).tolist() for part in np.split(legal, self._starts[1:])]
        name = self.games[0].action_name if self._single else str
        names = [{name(action): action for action in part} for part in parts if len(part) > 1]
        listed = ["|".join(part) for part in names] if len(names) > 1 else [*names[0]]
        valid = ", ".join(listed[:LISTED]) + ", ..." * (len(listed) > LISTED)
        while True:
            answer = self._read(f"Your action ({valid}): ").strip()
            if (chosen := _chosen(answer, names)) is not None:
                left = iter(chosen)
                return np.array([next(left) if len(part) > 1 else part[0] for part in parts], self.actions.dtype)
            if answer.casefold() == "quit":
                raise EOFError
            self._write(f"That is no legal action (valid: {', '.join(listed)}; or quit).")

    def _lines(self) -> str | None:
        """The game as lines; None where it does not show itself."""
        shown = self.view()
        if not isinstance(shown, np.ndarray):
            return shown and shown.rstrip("\n")
        columns, rows = shutil.get_terminal_size()
        picture = Image.fromarray(shown)
        picture.thumbnail((columns, 2 * max(rows - BELOW, 1)), Image.Resampling.BOX)
        return ansi(np.asarray(picture.resize((picture.width, picture.height + picture.height % 2))))


def _chosen(answer: str, names: Sequence[dict[str, int]]) -> list[int] | None:
    """Parse an answer: the name of an action of each part, with commas between them; None if it is not legal."""
    words = [word.strip() for word in answer.split(",")] if len(names) > 1 else [answer]
    folded = [{name.casefold(): action for name, action in part.items()} for part in names]
    found = [part.get(word, more.get(word.casefold())) for word, part, more in zip(words, names, folded, strict=False)]
    action = [number for number in found if number is not None]
    return action if len(words) == len(action) == len(names) else None
