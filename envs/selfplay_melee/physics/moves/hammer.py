"""Kirby's side special: in the air it lifts him once before a landing; its columns describe the rest.

Rules: doldecomp/melee, ftkirbyspecials.c. Figure: as a port of it documents it from the game's files.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule

LIFT = 1.5  # units a frame


@rule
def set_speed(p, m, c):
    """The lift at the start, in place of the speed before; a second one keeps that speed."""
    if p.action_frame == 1.0 and not p.on_ground and not m.risen:
        m.risen = 1
        p.speed_y = LIFT - c.gravity
