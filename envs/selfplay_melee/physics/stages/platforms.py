"""Platforms that move: the two of Fountain of Dreams, and Randall, the cloud of Yoshi's Story.

``memory.platform_x`` and ``platform_y`` hold the offset of each moving platform from its place in the tables; rules
read surfaces through ``stage.surface_height``, ``surface_left`` and ``surface_right``. Both players' memories hold the
same offsets, so that a rule needs only one player's memory.

Randall's place follows from the frame, in a loop of 1200 frames (libmelee's stages.py). The heights of the fountain are
in the game's record: see ``fountain``; with ``fountain_given`` they are set from outside.
"""

from __future__ import annotations

import numpy as np

from selfplay.compilation.compile import rule
from selfplay_melee.physics.change import start_fall
from selfplay_melee.physics.stages.fountain import move_fountain, start_fountain, under_water
from selfplay_melee.physics.stages.stage import surface_height, surface_left, surface_right
from selfplay_melee.tables.layout import FOUNTAIN, MAX_MOVERS, RANDALL

RANDALL_LOOP = 1200
GONE = -1000.0  # height of a platform under water, far below the blast zone
# Frame of the loop, then the left end and the height of the cloud there; between them it goes straight.
RANDALL_PATH = np.array(
    [
        [-124.0, -101.85, -33.2499],
        [415.0, 89.4088, -33.2499],
        [416.0, 89.7526, -33.1845],
        [417.0, 90.0788, -33.0447],
        [418.0, 90.4049, -32.9049],
        [419.0, 90.7311, -32.7652],
        [420.0, 90.9246, -32.4926],
        [421.0, 91.0644, -32.1664],
        [422.0, 91.2042, -31.8401],
        [423.0, 91.344, -31.5139],
        [424.0, 91.35, -31.1602],
        [468.0, 91.35, -15.5473],
        [469.0, 91.3371, -15.1949],
        [470.0, 91.1974, -14.8687],
        [471.0, 91.0576, -14.5426],
        [472.0, 90.9178, -14.2165],
        [473.0, 90.7104, -13.9671],
        [474.0, 90.3692, -13.8697],
        [475.0, 90.028, -13.7722],
        [476.0, 89.6868, -13.6747],
        [477.0, 89.3354, -13.6499],
        [1015.0, -101.5685, -13.6499],
        [1016.0, -101.9197, -13.6798],
        [1017.0, -102.2458, -13.8195],
        [1018.0, -102.572, -13.9593],
        [1019.0, -102.8981, -14.0991],
        [1020.0, -103.1476, -14.3201],
        [1021.0, -103.3063, -14.6375],
        [1022.0, -103.465, -14.9549],
        [1023.0, -103.6, -15.2779],
        [1068.0, -103.6, -31.2457],
        [1069.0, -103.5549, -31.59],
        [1070.0, -103.3963, -31.9074],
        [1071.0, -103.2376, -32.2248],
        [1072.0, -103.0789, -32.5422],
        [1073.0, -102.7744, -32.7217],
        [1074.0, -102.4663, -32.8978],
        [1075.0, -102.1581, -33.0738],
        [1076.0, -101.85, -33.2499],
    ]
)


@rule
def _on_path(path, frame, column):
    row = 1
    while row < len(path) - 1 and frame > path[row, 0]:
        row += 1
    part = (frame - path[row - 1, 0]) / (path[row, 0] - path[row - 1, 0])
    return path[row - 1, column] + (path[row, column] - path[row - 1, column]) * part


@rule
def randall(frame):
    """Left end and height of the cloud, ``frame`` frames after GO."""
    at = float((frame + RANDALL_LOOP) % RANDALL_LOOP)
    if at > RANDALL_PATH[len(RANDALL_PATH) - 1, 0]:
        at -= RANDALL_LOOP
    return _on_path(RANDALL_PATH, at, 1), _on_path(RANDALL_PATH, at, 2)


@rule
def place_platforms(game, memory, s):
    """Put every platform where it is at the start of a game."""
    game.fountain_given = 0
    start_fountain(game)
    for seat in range(2):
        platforms_at(game, memory[seat], s)


@rule
def platforms_at(game, m, s):
    """Write the platforms' places after the last played frame into a memory, without motion."""
    for mover in range(MAX_MOVERS):
        m.platform_x[mover] = 0.0
        m.platform_y[mover] = 0.0
    if s.num_movers > 0:
        _place(game, m, s, game.frame)
    for mover in range(MAX_MOVERS):
        m.platform_rise[mover] = 0.0


@rule
def _place(game, m, s, frame):
    for mover in range(s.num_movers):
        before = m.platform_y[mover]
        surface = s.num_surfaces - s.num_movers + mover
        if s.movement == RANDALL:
            left, y = randall(frame)
            m.platform_x[mover] = left - s.surface_left[surface]
        else:
            y = game.fountain_right if mover else game.fountain_left
            if under_water(y):
                y = GONE
        m.platform_y[mover] = y - s.surface_y[surface]
        came_up = before + s.surface_y[surface] == GONE
        m.platform_rise[mover] = 0.0 if came_up else m.platform_y[mover] - before


@rule
def move_platforms(game, players, memory, s):
    """Move the platforms of this stage and the players on them."""
    if s.num_movers == 0:
        return
    if s.movement == FOUNTAIN and not game.fountain_given:
        move_fountain(game)
    for seat in range(2):
        p, m = players[seat], memory[seat]
        riding = p.on_ground and m.surface > 0 and s.surface_mover[m.surface] >= 0
        before = surface_left(m, s, m.surface) if riding else 0.0
        _place(game, m, s, game.frame + 1)
        if not riding:
            continue
        if surface_height(m, s, m.surface, p.x) == GONE:
            start_fall(p, m)
            continue
        p.x += surface_left(m, s, m.surface) - before
        p.x = min(max(p.x, surface_left(m, s, m.surface)), surface_right(m, s, m.surface))
        p.y = surface_height(m, s, m.surface, p.x)
