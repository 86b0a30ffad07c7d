"""The description of a game that is given as ``Rules``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from selfplay.games.kind import GameKind
from selfplay.games.objective import Objective
from selfplay.games.rated import RatedGame, ScriptedPlayer
from selfplay.games.solved.block import SolvedGame, TableGame
from selfplay.games.solved.table import Player, Rules, Table, action_spec, enumerate_states, uniform
from selfplay.games.vector import RANDOM


def kind_of_rules(
    name: str,
    rules: Rules[Any],
    players: Mapping[str, Player] = MappingProxyType({}),
    *,
    version: int = 1,
    unit: str = "points",
    objective: Objective | None = None,
) -> GameKind:
    """The description of a game that is written down whole.

    Args:
        name: For messages, and in the versions of rated games.
        rules: Of the game.
        players: Scripted players beside a random one.
        version: Of the observations.
        unit: What payoffs are counted in, plural, if they are not of one size only.
        objective: What players are judged by; None: what the payoffs show, for which all states are enumerated.

    Raises:
        GameError: the game is too large for a table.
    """
    single = partial(SolvedGame, rules, players, version)
    players = {RANDOM: uniform(rules), **players}
    table = cache(lambda: enumerate_states(rules, players))
    return GameKind(
        make=lambda num_games: TableGame(table(), num_games),
        obs_width=len(rules.observe(rules.starts()[0], 0)),
        actions=action_spec(rules.actions),
        encoder_version=version,
        ladder=tuple(players),
        rated=RatedGame({player: ScriptedPlayer("known-1") for player in players}, {"game": name, "players": 1}),
        table=table,
        single=lambda render=True: single(),
        declared=_objective(table(), unit) if objective is None else objective,
    )


def _objective(table: Table, unit: str) -> Objective:
    """What players are judged by: who wins, if all payoffs but 0 are of one size."""
    paid = table.payoff[table.over].astype(float)
    high = float(np.abs(paid).max(initial=0.0))  # seats are paid alike: a payoff of one is a loss of the other
    if np.isin(np.abs(paid), (0.0, high)).all():
        return Objective("outcome")
    return Objective("reward", -high, high, unit)
