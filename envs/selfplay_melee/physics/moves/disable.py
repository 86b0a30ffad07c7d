"""Mewtwo's Disable: a short ray that stuns a grounded victim who looks at it, and makes one in the air tumble.

Source: doldecomp/melee, ftCo_DamageBind.c; figures of the stun: SmashWiki (Stun).
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.grab import bind, num_mashed
from selfplay_melee.physics.change import enter, rest

STUN_FRAMES = 96.0  # plus
STUN_PER_PERCENT = 0.6
MASH_FRAMES = 5.0  # that an input of the victim takes off


@rule
def overlooks(m, i, victim):
    """Whether the victim looks away from a ray, which then does not touch it."""
    return m.laser_speed_x[i] * victim.facing > 0.0


@rule
def stun(p, victim, memory, damage):
    """Stun the victim, or make it tumble if it is in the air."""
    victim.hitstun = 0.0
    memory.launch = 0
    memory.ledge = 0
    if not victim.on_ground:
        enter(victim, memory, a.DAMAGE_FALL)
        return
    enter(victim, memory, a.DAMAGE_BIND)
    bind(p, victim, memory, STUN_FRAMES, STUN_PER_PERCENT, victim.percent + damage)


@rule
def be_stunned(p, m):
    """One frame of the stun: time and inputs shorten it."""
    m.held_for -= 1.0 + MASH_FRAMES * num_mashed(m)
    if m.held_for <= 0.0 or not p.on_ground:
        rest(p, m)
