"""Fights of scripted players, whose observations check copies of policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from selfplay.compilation.progress import compile_rules
from selfplay.games.registry import find_game
from selfplay_melee import bots
from selfplay_melee.choices import MOCK
from selfplay_melee.mock import MockMelee

if TYPE_CHECKING:
    from selfplay_melee.rated import FightBody

PLAYERS: Final = (("edge_guarder", "rusher"), ("random", "counter_hitter"))  # of each fight
EPISODES: Final = 3  # minimum of each fight, if there are enough steps


def sample_games(body: FightBody, observations: int) -> MockMelee:
    """Fights with the characters, stage, frame skip and delay of a policy; short ones for few observations."""
    compile_rules(find_game(MOCK))
    steps = -(-observations // (2 * len(PLAYERS)))
    game = MockMelee(
        len(PLAYERS),
        characters=body.conditions.characters,
        stage=body.stage,
        frame_skip=body.frame_skip,
        delay=body.delay,
        max_episode_frames=max(1, steps // EPISODES) * body.frame_skip,
    )
    game.bot_skip = bots.FRAME_SKIP
    game.bots[:] = [[bots.NAMES.index(name) for name in pair] for pair in PLAYERS]
    return game
