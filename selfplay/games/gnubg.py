"""GNU Backgammon as a player of OpenSpiel's backgammon, by the command line of the program.

A position is what OpenSpiel shows to a player: checkers of both sides on 24 points, four features each, then those on
the bar and off the board. OpenSpiel has a turn with equal dice as two decisions of two moves each.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfplay.games.errors import GameError

if TYPE_CHECKING:
    from selfplay.games.line_program import LineProgram

OPTIONS: Final = ("-t", "-q", "-r")  # no window, no sound, no settings of the user
POINTS: Final = 24
BAR: Final = 25  # of the side to move; 0 is off the board
_SIDE: Final = 4 * POINTS  # features of one side
_OWN_BAR, _OTHER_BAR, _DICE = 2 * _SIDE, 2 * _SIDE + 3, 2 * _SIDE + 6
_MOVE: Final = re.compile(r"^\s*1\. Cubeless \S+\s+(.*?)\s+(?:Eq\.|MWC):")
_PART: Final = re.compile(r"([\w/*]+)(?:\((\d)\))?")

Sides = tuple[list[int], list[int]]
"""Checkers of the side to move and of the other, by the point as the side to move counts: off, 1 to 24, bar."""


def preparation(plies: int, only_wins: bool) -> tuple[str, ...]:
    """Commands before a question: the strength, without noise or cube; whether only wins count, or gammons, too."""
    evaluation = "set evaluation chequerplay evaluation"
    return (
        "set automatic roll off", "set automatic game off", "set automatic move off", "set automatic bearoff off",
        "set player 0 human", "set player 1 human", "set confirm new off", "set jacoby off",
        f"{evaluation} plies {plies}", f"{evaluation} cubeful off", f"{evaluation} noise 0",
        "new match 1" if only_wins else "new session",
    )  # fmt: skip


def backgammon_move(prepare: tuple[str, ...], program: LineProgram, state: Any, rng: np.random.Generator) -> int:
    """The decision that leads to the position that GNU Backgammon chooses for the end of the turn."""
    del rng  # without noise it is not random
    player, begun = state.current_player(), _turn_began(state)
    seen = begun.observation_tensor(player)
    sides = _sides(seen, player)
    dice = f"set dice {seen[_DICE]:.0f} {seen[_DICE + 1]:.0f}"
    question = (*prepare, "set turn 1", f"set board simple {_simple(sides)}", dice, "hint 1", dice)
    answer = program.ask(question, lambda line: line.startswith("The dice have been set"), answers=2)
    chosen = next((found[1] for line in answer if (found := _MOVE.match(line))), None)
    if chosen is None:
        raise GameError(f"GNU Backgammon named no move: {' | '.join(answer[-3:])}")
    wanted = _features(_after(sides, chosen), player)
    for action in state.legal_actions():
        if _reaches(state.child(action), player, wanted):
            return int(action)
    raise GameError(f"OpenSpiel has no move {chosen} of GNU Backgammon in {' '.join(str(state).split())}")


def _turn_began(state: Any) -> Any:
    """The state before the first decision of this turn."""
    history = state.full_history()
    if not history or history[-1].player != state.current_player():
        return state
    begun = state.get_game().new_initial_state()
    for move in history[:-1]:
        begun.apply_action(move.action)
    return begun


def _reaches(state: Any, player: int, wanted: list[float]) -> bool:
    """Whether a state, or one after another decision of the same turn, has the wanted position."""
    if not state.is_terminal() and state.current_player() == player:
        return any(_reaches(state.child(action), player, wanted) for action in state.legal_actions())
    seen = state.observation_tensor(player)
    return bool(seen[: _OWN_BAR + 1] == wanted[:-1] and seen[_OTHER_BAR] == wanted[-1])


def _sides(seen: list[float], player: int) -> Sides:
    def counts(features: list[float]) -> list[int]:
        one, two, three, more = np.reshape(features, (POINTS, 4)).astype(int).T
        points = one + 2 * two + 3 * three + np.where(more > 0, more + 3, 0)
        return [0, *(points if player == 1 else points[::-1]).tolist(), 0]

    own, other = counts(seen[:_SIDE]), counts(seen[_SIDE : 2 * _SIDE])
    own[BAR], other[BAR] = int(seen[_OWN_BAR]), int(seen[_OTHER_BAR])
    return own, other


def _features(sides: Sides, player: int) -> list[float]:
    """What ``_sides`` reads, the bars last."""
    found: list[float] = []
    for side in sides:
        points = side[1:BAR] if player == 1 else side[BAR - 1 : 0 : -1]
        for count in points:
            found += [float(count == 1), float(count == 2), float(count == 3), float(max(count - 3, 0))]
    return [*found, float(sides[0][BAR]), float(sides[1][BAR])]


def _simple(sides: Sides) -> str:
    own, other = sides
    points = (own[point] - other[point] for point in range(1, BAR))
    return " ".join(map(str, (own[BAR], *points, other[BAR])))


def _after(sides: Sides, move: str) -> Sides:
    """The position after a move such as ``24/18*/13 6/4(2)``."""
    own, other = list(sides[0]), list(sides[1])
    for path, times in _PART.findall(move):
        stops = [int(stop) for stop in path.replace("*", "").replace("off", "0").replace("bar", f"{BAR}").split("/")]
        for _ in range(int(times or 1)):
            own[stops[0]] -= 1
            own[stops[-1]] += 1
            for stop in stops[1:]:
                if 0 < stop < BAR and other[stop] == 1:  # only a single checker is hit
                    other[stop], other[BAR] = 0, other[BAR] + 1
    return own, other
