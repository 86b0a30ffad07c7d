"""The arrays of a block of games, one row a game, grouped so that a compiled function takes a group as one argument.

B games, P seats, D observation features, L frames of a delay line, R terms of the reward. ``state`` says what a record
dtype holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfplay_melee.bots import BOT
from selfplay_melee.controller import HELD
from selfplay_melee.observation import DelayLines
from selfplay_melee.physics.memory import MEMORY
from selfplay_melee.reward import RewardTerms
from selfplay_melee.reward_weights import NO_REWARDS, RewardWeights
from selfplay_melee.state import CONTROLLER, NUM_SEATS, GameState, records

if TYPE_CHECKING:
    from selfplay.games.api import F32, Bool

_COUNTS: Final = (
    ("stocks", "i4"),  # left at the end
    ("percent", "f8"),  # at the end
    ("stocks_taken", "i4"),
    ("stocks_lost", "i4"),
    ("damage", "f8"),  # dealt
    ("damage_taken", "f8"),
    ("self_destructs", "i4"),
    ("ledge_grabs", "i4"),
    ("frames", "i4"),
    ("frames_without_hit", "i4"),  # longest time without damage, see ``EPISODE``
    ("ended", "i4"),  # index into ``selfplay_melee.limits.ENDED_BY``
)
_TERMS: Final = len(RewardTerms._fields)

# Counts of one episode, for each seat, and the sums of its reward terms.
STATS: Final = np.dtype([*_COUNTS, *((f"reward_{name}", "f8") for name in RewardTerms._fields)], align=True)
_STATS_OF_RULES: Final = np.dtype([*_COUNTS, ("rewards", "f8", (_TERMS,))], align=True)  # the same memory

# The episode that a game is in. ``clock`` counts frames as ``frames`` does, and gives the place in the delay line.
EPISODE: Final = np.dtype(
    [
        ("seed", "i8"),
        ("number", "i4"),
        ("frames", "i4"),
        ("cap", "i4"),
        ("clock", "i4"),
        ("quiet", "i4"),  # frames since the last damage in which both players were in play
        ("longest_quiet", "i4"),  # the most of them so far
    ],
    align=True,
)


class StepOptions(NamedTuple):
    """Numbers that hold for every game of a block."""

    frame_skip: int  # frames that one step plays
    bot_skip: int  # frames between two decisions of a scripted player
    cap: int  # frames after which an episode is truncated
    ledge_grab_limit: int  # see ``MeleeGame``
    rewards: RewardWeights = NO_REWARDS  # see ``reward.per_frame``


class Games(NamedTuple):
    """Everything that games remember between two steps."""

    episode: NDArray[np.void]  # EPISODE [B]
    game: NDArray[np.void]  # GAME [B]
    players: NDArray[np.void]  # PLAYER [B, P]
    controllers: NDArray[np.void]  # CONTROLLER [B, P], of the last frame
    memory: NDArray[np.void]  # MEMORY [B, P]
    bots: NDArray[np.int8]  # [B, P] index of a seat's scripted player, -1 none
    bot_memory: NDArray[np.void]  # BOT [B, P]
    chosen: NDArray[np.void]  # CONTROLLER [B, P], what each seat has chosen last
    press: NDArray[np.int64]  # [B, P] frames for which its buttons are pressed; -1: until the seat chooses again
    line: NDArray[np.void]  # CONTROLLER [B, P, L], ring of the controllers of the next frames
    delay: NDArray[np.int64]  # [B, P] frames from seeing to acting
    mirrored: Bool  # [B, P] the seat sees left and right exchanged
    sums: NDArray[np.float64]  # [B, P, R] sums of the ``RewardTerms`` of the episode so far


def delay_lines(games: Games) -> DelayLines:
    """The inputs that seats have chosen for the next frames."""
    return DelayLines(games.line, games.episode["clock"].astype(np.int64), games.delay)


class StepArrays(NamedTuple):
    """The arrays of a ``StepBatch``."""

    obs: F32  # [B, P, D]
    reward: F32  # [B, P]
    terminated: Bool  # [B]
    truncated: Bool  # [B]
    final_obs: F32  # [B, P, D]
    score: F32  # [B, P]
    stats: NDArray[np.void]  # [B, P], to be viewed as STATS


def new_games(state: GameState, delay: NDArray[np.int64], line: int) -> Games:
    """Games with the given state; everything else is zero. No seat has a scripted player.

    Args:
        state: Shared, not copied.
        delay: [B, P].
        line: L.
    """
    shape = (len(state.game), NUM_SEATS)
    return Games(
        episode=records(EPISODE, len(state.game)),
        game=state.game,
        players=state.players,
        controllers=state.controllers,
        memory=records(MEMORY, *shape),
        bots=np.full(shape, -1, np.int8),
        bot_memory=records(BOT, *shape),
        chosen=records(CONTROLLER, *shape),
        press=np.full(shape, HELD, np.int64),
        line=records(CONTROLLER, *shape, line),
        delay=delay,
        mirrored=np.zeros(shape, np.bool_),
        sums=np.zeros((*shape, _TERMS)),
    )


def new_step_arrays(num_games: int, obs_width: int) -> StepArrays:
    """Zeroed."""
    shape = (num_games, NUM_SEATS)
    return StepArrays(
        obs=np.zeros((*shape, obs_width), np.float32),
        reward=np.zeros(shape, np.float32),
        terminated=np.zeros(num_games, np.bool_),
        truncated=np.zeros(num_games, np.bool_),
        final_obs=np.zeros((*shape, obs_width), np.float32),
        score=np.zeros(shape, np.float32),
        stats=records(_STATS_OF_RULES, *shape),
    )
