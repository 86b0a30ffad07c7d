"""Donkey Kong's side special: on the ground it buries a player who stands.

Rules: doldecomp/melee, ftCo_Bury.c. Time: SmashWiki, "Buried". Speed of the jump out of the ground: estimated, that of
a jump out of a grab; how long it lasts and how long nothing hits it: estimated.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.down import is_down
from selfplay_melee.physics.actions.grab import bind, loosen
from selfplay_melee.physics.change import enter, finished, leave_ground, start_fall
from selfplay_melee.physics.hits.damage import note_damage

BURY_FRAMES = 99.0  # plus
BURY_PER_PERCENT = 0.7
JUMP_Y = 2.5  # units a frame
JUMP_LOCK = 10.0  # frames before the player may act
INTANGIBLE_FRAMES = 15.0


@rule
def is_buried(p):
    """Whether the player is stuck in the ground: hits hurt it, but do not move it."""
    return p.action == a.BURY or p.action == a.BURY_WAIT


@rule
def bury(p, m, victim, memory, damage):
    """Bury the victim of seat ``p``; False if it is in the air or lies."""
    if not victim.on_ground or is_down(victim) or is_buried(victim):
        return False
    note_damage(m, victim, memory, damage)
    victim.speed_ground_x = 0.0
    victim.speed_attack_x = 0.0
    victim.speed_attack_y = 0.0
    victim.hitstun = 0.0
    memory.launch = 0
    memory.recoil = 0.0
    bind(p, victim, memory, BURY_FRAMES, BURY_PER_PERCENT, victim.percent)
    enter(victim, memory, a.BURY)
    return True


@rule
def buried(p, m, tables):
    """One frame in the ground, or in the jump out of it: buttons and the stick shorten the time."""
    if p.action == a.BURY_JUMP:
        if p.action_frame >= JUMP_LOCK:
            start_fall(p, m)
        return
    loosen(m)
    if m.held_for <= 0.0 or not p.on_ground:
        leave_ground(p, m)
        enter(p, m, a.BURY_JUMP)
        p.speed_air_x = 0.0
        p.speed_y = JUMP_Y
        m.intangible = INTANGIBLE_FRAMES
    elif p.action == a.BURY and finished(p, m, tables):
        enter(p, m, a.BURY_WAIT)
