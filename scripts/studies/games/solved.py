"""The games with known answers: the meaning of an observation follows from the states in which it is not 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from scripts.studies.games import parts
from scripts.studies.pages import table
from selfplay.games.registry import find_game
from selfplay.games.solved.kuhn import CARDS, Kuhn
from selfplay.games.solved.leduc import NAMES, Leduc, betting
from selfplay.games.solved.matrix import MATCHING_PENNIES, ROCK_PAPER_SCISSORS
from selfplay.games.solved.mixup import MixUp

if TYPE_CHECKING:
    from selfplay.games.solved.table import Rules

Facts = Mapping[str, str]
"""What can be said of a state from the view of a seat."""
PLAYERS: Final = {
    "random": "each legal action equally likely",
    "equilibrium": "plays the equilibrium above",
    "caller": "plays `call`",
    "raiser": "plays `raise`, or `call` if that is not legal",
}


def _of_seat(_: object, seat: int) -> Facts:
    return {"seat": str(seat)}


def _of_kuhn(state: Any, seat: int) -> Facts:  # noqa: ANN401
    words = {"p": "pass", "b": "bet"}
    moves = ", ".join(words[move] for move in state.done) or "none"
    return {"own card": CARDS[state.cards[seat]], "moves": moves, "seat": str(seat)}


def _of_leduc(state: Any, seat: int) -> Facts:  # noqa: ANN401
    now = betting(state.moves)
    facts = {"seat": str(seat), "own card": CARDS[state.cards[seat] // 2]}
    facts["open card"] = CARDS[state.cards[2] // 2] if now.round else "none"
    places = ((r, place, move) for r, done in enumerate(state.moves) for place, move in enumerate(done))
    return facts | {f"move {place + 1} of round {r + 1}": NAMES[move] for r, place, move in places}


def _of_mixup(state: Any, seat: int) -> Facts:  # noqa: ANN401
    mine, other = state.points[seat], state.points[1 - seat]
    return {"own points": str(mine), "the other's points": str(other), "exchanges left": str(state.left)}


GAMES: Final[dict[str, tuple[Rules[Any], Callable[[Any, int], Facts]]]] = {
    "rps": (ROCK_PAPER_SCISSORS, _of_seat),
    "pennies": (MATCHING_PENNIES, _of_seat),
    "kuhn": (Kuhn(), _of_kuhn),
    "leduc": (Leduc(), _of_leduc),
    "mixup": (MixUp(), _of_mixup),
}


def _states(rules: Rules[Any]) -> Iterator[Any]:
    """All states that are not over."""
    found = list(rules.starts())
    known = set(found)
    for state in found:  # grows meanwhile
        if rules.payoff(state) is not None:
            continue
        yield state
        for pair in product(rules.legal(state, 0), rules.legal(state, 1)):
            if (reached := rules.after(state, pair)) not in known:
                known.add(reached)
                found.append(reached)


def meanings(rules: Rules[Any], facts: Callable[[Any, int], Facts]) -> dict[int, str]:
    """Meaning of each feature that is ever 1: the facts that all states share in which it is."""
    shared: dict[int, Facts] = {}
    for state, seat in product(_states(rules), range(2)):
        told = facts(state, seat)
        for index in np.flatnonzero(rules.observe(state, seat)).tolist():
            before = shared.get(index, told)
            shared[index] = {name: value for name, value in told.items() if before.get(name) == value}
    return {
        index: "; ".join(f"{name}: {value}" for name, value in each.items()) or "all states"
        for index, each in sorted(shared.items())
    }


def _observation(name: str) -> str:
    rules, facts = GAMES[name]
    found = meanings(rules, facts)
    rows: list[tuple[int | str, str]] = list(found.items())
    if len(found) < find_game(name).obs_width:
        rows.append(("all others", "none"))
    return table(("index", "1 in states with"), rows)


def _players(name: str) -> Mapping[str, str]:
    return {
        each: PLAYERS.get(each, f"plays `{each.removeprefix('always_')}` whenever it is legal")
        for each in find_game(name).ladder
    }


def text(name: str) -> str:
    """The tables of a game's page."""
    kind = find_game(name)
    numbered = ", ".join(f"{number} {action}" for number, action in enumerate(GAMES[name][0].actions))
    return parts.joined(
        [
            ("Observation", _observation(name)),
            ("Action", parts.actions(kind, {"action": numbered})),
            ("Versions", parts.versions(kind)),
            ("Scripted players", parts.players(kind, _players(name))),
        ]
    )
