"""The solved games, as the trainer finds them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from selfplay.games.kind import GameKind
from selfplay.games.objective import OUTCOME, Objective
from selfplay.games.rated import RatedGame, ScriptedPlayer
from selfplay.games.solved.block import SolvedGame, TableGame
from selfplay.games.solved.kuhn import Kuhn
from selfplay.games.solved.matrix import MATCHING_PENNIES, ROCK_PAPER_SCISSORS
from selfplay.games.solved.mixup import MixUp
from selfplay.games.solved.table import Player, always, enumerate_states, uniform
from selfplay.games.solved.table import action_spec as one_categorical

if TYPE_CHECKING:
    from selfplay.games.solved.table import Rules


def _solved(
    name: str, rules: Rules[Any], players: Mapping[str, Player], objective: Objective, encoder_version: int = 1
) -> GameKind:
    """A game that is written down whole, with its scripted players beside a random one."""
    single = partial(SolvedGame, rules, players, encoder_version)
    players = {"random": uniform(rules), **players}
    table = cache(lambda: enumerate_states(rules, players))
    return GameKind(
        make=lambda num_games: TableGame(table(), num_games),
        obs_width=len(rules.observe(rules.starts()[0], 0)),
        actions=one_categorical(rules.actions),
        encoder_version=encoder_version,
        ladder=tuple(players),
        rated=RatedGame({player: ScriptedPlayer("known-1") for player in players}, {"game": name, "players": 1}),
        table=table,
        declared=objective,
        single=lambda render=True: single(),
    )


_TWO: Final = Objective("reward", -2.0, 2.0)
_KUHN: Final = Kuhn()
_MIXUP: Final = MixUp()
RPS: Final = _solved("rps", ROCK_PAPER_SCISSORS, {"rock": always(ROCK_PAPER_SCISSORS, "rock")}, _TWO)
PENNIES: Final = _solved("pennies", MATCHING_PENNIES, {"heads": always(MATCHING_PENNIES, "heads")}, OUTCOME)
_BETS: Final = {"always_bet": always(_KUHN, "bet"), "equilibrium": _KUHN.equilibrium}
KUHN: Final = _solved("kuhn", _KUHN, _BETS, Objective("reward", -2.0, 2.0, "antes"))
_POINTS: Final = Objective("reward", -1.0, 1.0)
MIXUP: Final = _solved("mixup", _MIXUP, {action: always(_MIXUP, action) for action in _MIXUP.actions}, _POINTS)
