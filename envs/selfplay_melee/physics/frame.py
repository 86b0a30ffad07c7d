"""One frame of one game of two players.

The order inside a frame: inputs are read; each player decides and moves, without looking at the other; then hits,
grabs and throws are found from that state and applied; then blast zones. Nothing depends on which seat comes
first, so swapping the seats and mirroring x gives the mirrored result, bit for bit.
"""

from __future__ import annotations

import numpy as np

from selfplay.compilation.compile import compiled, rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.act import decide
from selfplay_melee.physics.actions.death import STOCKS, check_blast_zones, is_away, is_over
from selfplay_melee.physics.actions.shield import FULL_SHIELD, heal_shield
from selfplay_melee.physics.change import lean, rest_hull
from selfplay_melee.physics.hits.damage import shield_influence, smash_influence, start_launch
from selfplay_melee.physics.hits.hit import resolve_hits
from selfplay_melee.physics.hits.holds import hold_hits, resolve_holds
from selfplay_melee.physics.hits.projectile import move_lasers, shoot
from selfplay_melee.physics.inputs import read_inputs
from selfplay_melee.physics.memory import NEVER
from selfplay_melee.physics.movement import move
from selfplay_melee.physics.moves.transform import restore_character
from selfplay_melee.physics.push import push_apart
from selfplay_melee.physics.stages.chance import start_chance
from selfplay_melee.physics.stages.platforms import move_platforms, place_platforms
from selfplay_melee.physics.stages.stage import surface_height, surface_left, surface_right, surface_under
from selfplay_melee.physics.stages.wind import blow, start_wind

RUNNING, OVER = 0, 1


@compiled
def start_game(game, players, memory, tables, spawn_offset):
    """Put both players on the ground, facing each other, able to act.

    ``game.stage`` and ``players[i].character`` must be set and in the tables; ``game.seed`` may be. ``spawn_offset``
    (units) moves both outwards from the stage's spawn points, at most to the edge.
    """
    game.frame = 0
    stage_row = tables.stage_rows[game.stage]
    s = tables.stages[stage_row]
    for seat in range(2):
        restore_character(players[seat], memory[seat])
        memory[seat] = tables.blank[0]
    start_chance(game)
    place_platforms(game, memory, s)
    start_wind(game, s)
    for seat in range(2):
        _start_player(players[seat], memory[seat], s, stage_row, tables, 1.0 if seat else -1.0, spawn_offset)


@rule
def _start_player(p, m, s, stage_row, tables, side, spawn_offset):
    m.stage_row = stage_row
    m.character_row = tables.character_rows[p.character]
    p.x = side * (s.spawn_x + spawn_offset)
    p.y = s.spawn_y
    p.facing = -side
    p.speed_air_x = 0.0
    p.speed_ground_x = 0.0
    p.speed_y = 0.0
    p.speed_attack_x = 0.0
    p.speed_attack_y = 0.0
    p.percent = 0.0
    p.shield = FULL_SHIELD
    p.hitlag = 0.0
    p.hitstun = 0.0
    p.action = a.WAIT
    p.action_frame = 0.0
    p.stocks = STOCKS
    m.air_jumps = int(tables.characters[m.character_row].air_jumps)
    p.jumps_left = m.air_jumps + 1
    p.on_ground = 1
    p.invulnerable = 0
    m.surface = max(surface_under(m, s, side * s.spawn_x, s.spawn_y, s.blast_bottom), 0)
    p.x = min(max(p.x, surface_left(m, s, m.surface)), surface_right(m, s, m.surface))
    p.y = surface_height(m, s, m.surface, p.x)


@compiled
def advance_frame(game, players, memory, controllers, tables):
    """Play one frame; RUNNING, or OVER when a seat has no stocks or the timer ran out."""
    s = tables.stages[memory[0].stage_row]
    move_platforms(game, players, memory, s)
    blow(game, players, memory)
    memory[0].rival_ledge = memory[1].ledge
    memory[1].rival_ledge = memory[0].ledge
    for seat in range(2):
        _begin(players[seat], memory[seat], controllers[seat], s, tables, 1.0 if seat else -1.0)
    for seat in range(2):
        if memory[seat].frozen == 0:
            shoot(players[seat], memory[seat], tables.characters[memory[seat].character_row], tables)
    hold_hits(players, memory, tables)
    push_apart(players, memory, tables)  # from where both stood a frame ago
    for seat in range(2):
        if memory[seat].frozen == 0:
            move(players[seat], memory[seat], tables.characters[memory[seat].character_row], s, tables)
    for seat in range(2):
        update_invulnerable(players[seat], memory[seat], tables)
    resolve_hits(players, memory, tables)
    resolve_holds(players, memory, tables)
    move_lasers(players, memory, s, tables)
    for seat in range(2):
        check_blast_zones(players[seat], memory[seat], s)
        update_invulnerable(players[seat], memory[seat], tables)
    game.frame += 1
    return OVER if is_over(game, players) else RUNNING


@rule
def _begin(p, m, pad, s, tables, side):
    """Inputs and decision of one player; hitlag freezes all but the inputs."""
    c = tables.characters[m.character_row]
    m.before_x = p.x
    m.before_y = p.y
    read_inputs(m, pad)
    tick(m)
    if p.hitlag > 0.0:
        p.hitlag -= 1.0
        if p.hitlag > 0.0:
            m.frozen = 1
            if m.launch:
                smash_influence(p, m, s)
            elif p.action == a.GUARD_STUN:
                shield_influence(p, m, s)
            rest_hull(p, m, tables)
            heal_shield(p)
            return
        p.hitlag = 0.0
        if p.action == a.GUARD_STUN:
            shield_influence(p, m, s)
    m.frozen = 0
    m.since_launch = min(m.since_launch + 1, NEVER)
    if m.launch:
        start_launch(p, m, s)
    p.action_frame = float(np.float32(p.action_frame + m.rate))  # single precision decides when a slow throw lets go
    loop = tables.actions[m.character_row, p.action].loop
    if loop > 0 and p.action_frame >= loop:
        p.action_frame -= loop
    m.age += 1
    lean(p, m, c)
    decide(p, m, c, s, tables, side)
    heal_shield(p)


@rule
def tick(m):
    """Advance the timers that run in hitlag too."""
    m.ledge_lock = max(m.ledge_lock - 1.0, 0.0)
    m.intangible = max(m.intangible - 1.0, 0.0)
    m.last_hit_by_frames = min(m.last_hit_by_frames + 1, NEVER)


@rule
def update_invulnerable(p, m, tables):
    entry = tables.actions[m.character_row, p.action]
    by_action = entry.intangible_to > 0 and entry.intangible_from <= p.action_frame <= entry.intangible_to
    p.invulnerable = 1 if by_action or is_away(p) or m.intangible > 0.0 else 0
