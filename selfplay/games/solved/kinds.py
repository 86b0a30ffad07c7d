"""The solved games, as the trainer finds them."""

from __future__ import annotations

from typing import Final

from selfplay.games.objective import Objective
from selfplay.games.solved.kuhn import Kuhn
from selfplay.games.solved.leduc import Leduc
from selfplay.games.solved.matrix import MATCHING_PENNIES, ROCK_PAPER_SCISSORS
from selfplay.games.solved.mixup import MixUp
from selfplay.games.solved.rules_kind import kind_of_rules
from selfplay.games.solved.table import always

_KUHN: Final = Kuhn()
_LEDUC: Final = Leduc()
_MIXUP: Final = MixUp()
RPS: Final = kind_of_rules("rps", ROCK_PAPER_SCISSORS, {"rock": always(ROCK_PAPER_SCISSORS, "rock")})
PENNIES: Final = kind_of_rules("pennies", MATCHING_PENNIES, {"heads": always(MATCHING_PENNIES, "heads")})
KUHN: Final = kind_of_rules(
    "kuhn", _KUHN, {"always_bet": always(_KUHN, "bet"), "equilibrium": _KUHN.equilibrium}, unit="chips"
)
LEDUC: Final = kind_of_rules(
    "leduc",
    _LEDUC,
    {"caller": always(_LEDUC, "call"), "raiser": always(_LEDUC, "raise", "call")},
    objective=Objective("reward", -13.0, 13.0, "chips"),
)
MIXUP: Final = kind_of_rules("mixup", _MIXUP, {action: always(_MIXUP, action) for action in _MIXUP.actions})
