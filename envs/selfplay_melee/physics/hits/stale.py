"""Staleness: a move that connected lately deals less damage.

Every move has a number; all tilts to one side are one move, and so are all parts of a special move. A use of a move
enters the queue once, when it first deals damage; each projectile that connects counts as a use of the move that fired
it. A hit on a shield does not count. Source: doldecomp/melee, pl/plstale.c and ft/ft_0881.c.
"""

from __future__ import annotations

import numpy as np

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.memory import STALE_QUEUE

NO_MOVE = 0
SPECIAL_MOVE = 40  # the first of the four special moves
STALE_FIRST = 0.09  # damage share that the newest entry of the queue takes; each older one 0.01 less
STALE_STEP = 0.01


def _moves():
    """[NUM_ACTIONS] number of the move that an action belongs to, NO_MOVE if it is none."""
    moves = np.zeros(a.NUM_ACTIONS, np.int32)
    groups = (
        *((action, action) for action in (a.JAB_1, a.JAB_2, a.JAB_3)),
        (a.RAPID_JAB_START, a.RAPID_JAB_END),
        (a.DASH_ATTACK, a.DASH_ATTACK),
        (a.FTILT_HIGH, a.FTILT_LOW),
        *((action, action) for action in (a.UTILT, a.DTILT)),
        (a.FSMASH_HIGH, a.FSMASH_LOW),
        *((action, action) for action in range(a.USMASH, a.DAIR + 1)),
        *((action, action) for action in (a.DOWN_ATTACK_UP, a.DOWN_ATTACK, a.CATCH_ATTACK)),
        *((action, action) for action in range(a.THROW_F, a.THROW_D + 1)),
        *((action, action) for action in (a.CLIFF_ATTACK_SLOW, a.CLIFF_ATTACK_QUICK)),
        (a.FIRST_SPECIAL, a.NUM_ACTIONS - 1),
    )
    for number, (first, last) in enumerate(groups, NO_MOVE + 1):
        moves[first : last + 1] = number
    return moves


MOVES = _moves()


@rule
def move_of(c, action):
    """Number of the move of character ``c`` that an action belongs to."""
    if action < a.FIRST_SPECIAL:
        return MOVES[action]
    part = 0
    part += 1 if 0.0 < c.side_ground <= action else 0
    part += 1 if 0.0 < c.up_ground <= action else 0
    part += 1 if 0.0 < c.down_ground <= action else 0
    return SPECIAL_MOVE + part


@rule
def same_use(before, action):
    """Whether an action goes on with the use of a move that the action before it began; each rapid jab is a new use."""
    if action == a.RAPID_JAB_LOOP == before:
        return False
    return MOVES[action] != NO_MOVE and MOVES[action] == MOVES[before]


@rule
def stale_share(m, move, newest):
    """Share of its damage that a move keeps after its recent uses, of which the ``newest`` ones are left out."""
    share = 1.0
    for i in range(newest, STALE_QUEUE):
        if m.stale[i] == move:
            share -= STALE_FIRST - STALE_STEP * (i - newest)
    return share


@rule
def remember_move(m, move):
    """Put a use of a move that connected into the queue."""
    for i in range(STALE_QUEUE - 1, 0, -1):
        m.stale[i] = m.stale[i - 1]
    m.stale[0] = move
