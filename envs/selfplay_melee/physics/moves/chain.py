"""Sheik's Chain, as a straight whip: it turns around the hand to where the stick points and hurts while it is fast.

In the game it is a rope of links that collide with the stage. What is kept of it: when it comes out and goes in, its
length, its circles, how fast it follows the stick, and that it hurts for some frames, then again if it is fast. The
direction, in degrees above straight forward, is in ``MEMORY.path_lean``, that of the frame before in ``aim_x``, and
how many frames it still hurts in ``aim_y``. Sources: doldecomp/melee, ftSk_SpecialS.c; libmelee framedata.csv.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee.physics.angles import cosine, norm, sine
from selfplay_melee.physics.motion import sign

START_GROUND, START_AIR = 349, 352
OUT_FRAME = 24.0  # first frame on which it is on its way out
HAND_X, HAND_Y = 12.7, 9.5  # the hand from the feet
LENGTH = 28.5
HURT_FRAMES = 16.0
FAST = 0.5  # units a frame of its end, from which on it hurts; estimated from when it does in one use in replays
TURN = 7.5  # degrees a frame that the stick turns it at most; as the chain in framedata.csv rises
SINK = 1.5  # degrees a frame that it sinks if the stick is at rest; the same, falling
AT_REST = 0.3  # of the stick; estimated


@rule
def play(p, m):
    """One frame: it turns, and its speed decides whether it hurts."""
    if p.action == START_GROUND or p.action == START_AIR:
        m.path_lean = 0.0
        m.aim_x = 0.0
        m.aim_y = HURT_FRAMES if p.action_frame >= OUT_FRAME else 0.0
        return
    m.aim_x = m.path_lean
    m.path_lean += _turn(p, m)
    moved_x = LENGTH * (cosine(m.path_lean) - cosine(m.aim_x))
    moved_y = LENGTH * (sine(m.path_lean) - sine(m.aim_x))
    if not p.on_ground:
        moved_x += p.facing * p.speed_air_x
        moved_y += p.speed_y
    m.aim_y = max(m.aim_y - 1.0, 0.0)
    if norm(moved_x, moved_y) < FAST:
        m.aim_y = 0.0
    elif m.aim_y == 0.0:
        m.aim_y = HURT_FRAMES
        m.hit_groups = 0


@rule
def _turn(p, m):
    cos, sin = cosine(m.path_lean), sine(m.path_lean)
    x, y = p.facing * m.stick_x, m.stick_y
    length = norm(x, y)
    if length < AT_REST:
        return -SINK * cos
    across = (cos * y - sin * x) / length
    if cos * x + sin * y >= 0.0:
        return TURN * across
    return TURN * (sign(across) if across != 0.0 else 1.0)


@rule
def place(p, x, y, at_x, at_y, lean):
    """Where a circle is that would be at (``at_x``, ``at_y``) from the feet if the chain pointed straight forward."""
    cos, sin = cosine(lean), sine(lean)
    x += p.facing * (HAND_X + (at_x - HAND_X) * cos - (at_y - HAND_Y) * sin)
    at_y = HAND_Y + (at_x - HAND_X) * sin + (at_y - HAND_Y) * cos
    return x, y + (max(at_y, 0.0) if p.on_ground else at_y)
