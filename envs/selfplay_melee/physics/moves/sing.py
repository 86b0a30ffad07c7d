"""Jigglypuff's up special: it puts players on the ground to sleep.

Rules: doldecomp/melee, ftCo_DamageSong.c. Times: SmashWiki, "Asleep".
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.grab import bind, loosen
from selfplay_melee.physics.change import enter, finished, rest
from selfplay_melee.physics.moves.headbutt import is_buried

SLEEP_FRAMES = 95.0  # plus
SLEEP_PER_PERCENT = 2.0


@rule
def lull(p, victim, memory):
    """Put the ``victim`` of seat ``p`` to sleep; nothing wakes a buried player."""
    if is_buried(victim):
        return
    victim.hitstun = 0.0
    memory.launch = 0
    bind(p, victim, memory, SLEEP_FRAMES, SLEEP_PER_PERCENT, victim.percent)
    enter(victim, memory, a.DAMAGE_SONG)


@rule
def sleep(p, m, tables):
    """One frame asleep: buttons and the stick shorten it; then the player gets up."""
    if not p.on_ground:
        rest(p, m)
    elif p.action == a.DAMAGE_SONG_END:
        if finished(p, m, tables):
            rest(p, m)
    else:
        loosen(m)
        if m.held_for <= 0.0:
            enter(p, m, a.DAMAGE_SONG_END)
        elif p.action == a.DAMAGE_SONG and finished(p, m, tables):
            enter(p, m, a.DAMAGE_SONG_WAIT)
