"""How many games are played on which states, and on which of them a training is judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from selfplay.errors import ConfigError

VALIDATION: Final = 10  # one of so many states


def games_on_states(games: int, per_state: int) -> list[int]:
    """Games on each state: whole groups, then what is left over.

    A rest of one joins the last state, since a game alone has nothing that it could be compared with. Where that
    leaves one state, it becomes two of half the size, so that there is one to train on and one to judge.

    Raises:
        ConfigError: so few games cannot be divided.
    """
    fewest = 4 if per_state > 1 else 2
    if games < fewest:
        raise ConfigError(f"--num-games {games}: {fewest} or more are needed, on a state to train on and one to judge")
    groups, rest = divmod(games, per_state)
    states = [per_state] * groups
    if rest == 1 and states:
        states[-1] += 1
    elif rest:
        states.append(rest)
    return states if len(states) > 1 else [games - games // 2, games // 2]


def validation_states(states: Iterable[int]) -> set[int]:
    """A tenth of the states, at least one: the first ones, which are whole groups. States come in no order."""
    ordered = sorted(set(states))
    return set(ordered[: max(1, len(ordered) // VALIDATION)])
