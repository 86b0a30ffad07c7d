"""Rules of fights."""

from selfplay.runner.match import Rules
from selfplay_melee.conditions import FightConditions


def fight_rules(game="mock", *, greedy=False, **conditions):
    return Rules(game, FightConditions(**conditions), greedy)
