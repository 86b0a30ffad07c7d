"""Follow what the mock would remember of each player, frame by frame of a replay, by the mock's own rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scripts.studies.fidelity.follow_hits import is_throw, note_hits, note_holds
from selfplay.compilation.compile import compiled, rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_A, BUTTON_B, BUTTON_Z
from selfplay_melee.physics.actions import ledge
from selfplay_melee.physics.actions.air import AIR_DODGE_LANDING
from selfplay_melee.physics.actions.crouch import DROP_FRAMES, flicked_through
from selfplay_melee.physics.actions.death import RESPAWN_INTANGIBLE
from selfplay_melee.physics.actions.down import LONGEST_LIE, is_down
from selfplay_melee.physics.actions.ground import DASH_GRAB, DASH_LATE, GUARD_LOCK_FRAMES
from selfplay_melee.physics.actions.hurt import buffer_jump
from selfplay_melee.physics.actions.landing import LANDING_FRAMES, attack_lag, set_lag
from selfplay_melee.physics.actions.run import RUN_LOCK
from selfplay_melee.physics.actions.shield import is_shielding, tilt_shield
from selfplay_melee.physics.actions.special import begin_move, follow_move, note_press, store_shot
from selfplay_melee.physics.actions.special_motion import is_special, note_lean, special_row
from selfplay_melee.physics.change import FIRST_RATE, forget_moves, lean, lock_hull, rest_hull
from selfplay_melee.physics.frame import tick
from selfplay_melee.physics.hits.damage import RECOIL_FRICTION, is_hurt, spend_flick, spend_side_flick
from selfplay_melee.physics.hits.stale import same_use
from selfplay_melee.physics.inputs import (
    DASH_AGE,
    DASH_STICK,
    RUN_JUMP_STICK,
    dash_direction,
    jump_asked,
    jump_held,
    read_inputs,
    shield_held,
    shield_jump_asked,
)
from selfplay_melee.physics.memory import NEVER
from selfplay_melee.physics.motion import sign, toward
from selfplay_melee.physics.stages.platforms import platforms_at
from selfplay_melee.physics.stages.stage import surface_height, surface_left, surface_right
from selfplay_melee.tables.layout import FLIGHT

if TYPE_CHECKING:
    from scripts.studies.fidelity.reconstruct import ReplayArrays
    from selfplay_melee.tables import Tables

NEAR_FLOOR = 0.5  # units beyond an edge at which feet may still be on the surface
SAME_SPEED = 1e-4  # a replay has single precision


@compiled
def follow(real: ReplayArrays, tables: Tables) -> None:
    """Fill ``real.memory`` from the other arrays."""
    game, players, controllers, memory = real
    stage_row = tables.stage_rows[game[0].stage]
    s = tables.stages[stage_row]
    for t in range(len(players)):
        for seat in range(2):
            if t > 0:
                memory[t, seat] = memory[t - 1, seat]
            else:
                memory[t, seat] = tables.blank[0]
            p, m = players[t, seat], memory[t, seat]
            m.stage_row = stage_row
            platforms_at(game[t], m, s)
            m.character_row = tables.character_rows[p.character]
            read_inputs(m, controllers[t, seat])
            tick(m)
            if t > 0:
                _remember(players[t - 1, seat], p, m, s, tables)
        if t > 0:
            for seat in range(2):
                note_hits(players, memory, t, seat, tables)
                note_holds(players, memory, t, seat, tables)
                memory[t, seat].rival_ledge = memory[t - 1, 1 - seat].ledge


@rule
def _remember(before, p, m, s, tables):
    """Update a memory from frame ``before`` to ``p``; the inputs of this frame are already read."""
    c = tables.characters[m.character_row]
    m.air_jumps = int(c.air_jumps)
    lying = a.DOWN_BOUND_UP <= p.action <= a.DOWN_ROLL_B
    before_surface = m.surface
    m.before_x = before.x
    m.before_y = before.y
    m.surface = _surface_under(p, m, s) if p.on_ground or lying else -1
    fast_fall = 1 if not p.on_ground and abs(p.speed_y + c.fast_fall_speed) < SAME_SPEED else 0
    if fast_fall > m.fast_fall:
        m.y_age = NEVER
    m.fast_fall = fast_fall
    m.launch = 1 if p.hitlag > 0.0 and p.hitstun > 0.0 and (is_hurt(p.action) or is_down(p)) else 0
    if p.on_ground or p.action == a.CLIFF_CATCH:
        m.risen = 0
    m.ledge = int(sign(p.x)) if a.CLIFF_CATCH <= p.action <= a.CLIFF_JUMP_QUICK_1 else 0
    if before.hitlag <= 1.0:
        m.since_launch = min(m.since_launch + 1, NEVER)
        _struggle(p, m)
    elif before.hitstun > 0.0 and is_hurt(before.action):
        spend_flick(m)
    elif before.action == a.GUARD_STUN:
        spend_side_flick(m)
    _follow_tilt(before, p, m)
    if p.hitlag <= 0.0:
        m.recoil = toward(m.recoil, 0.0, RECOIL_FRICTION * c.traction)
    if before.action == a.GUARD_ON and p.action == a.GUARD_REFLECT:
        m.age += 1
        m.trigger_age = NEVER
        _follow_shield(p, m)
    elif p.action != before.action or _restarts(before, p, m, tables):
        _begin(before, p, m, c, tables)
        m.drop_from = before_surface if p.action == a.PLATFORM_DROP else -1
        m.lean = 0.0
        m.lean_side = 0
    else:
        m.age += 0 if p.hitlag > 0.0 else 1
        if a.FSMASH_HIGH <= p.action <= a.DSMASH and p.hitlag <= 0.0 and p.action_frame == before.action_frame:
            m.charge += 1.0
        if p.hitlag <= 0.0 and p.action_frame > before.action_frame and not is_throw(p.action):
            m.rate = p.action_frame - before.action_frame
        if p.hitlag <= 0.0:
            lean(before, m, c)
            _go_on(before, p, m, c)
    if p.hitlag <= 0.0 and is_special(p, c):
        _follow_special(before, p, m, c, tables)
    _follow_hull(before, p, m, tables)


@rule
def _follow_special(before, p, m, c, tables):
    """What a special move remembers: how long it has lasted, whether B was let go, presses for what follows."""
    row = special_row(p, m, tables)
    if is_special(before, c):
        last = special_row(before, m, tables)
        follow_move(m, last)
        if row.drive == FLIGHT and last.again_frame > 0:
            m.flown_again = 1
    note_press(p, m, row)
    note_lean(p, m, row)
    _note_shots(before, p, m, row, tables)
    if row.once:
        m.risen = 1
    if row.frozen > 0:
        m.rate = 0.0
        m.duration = float(row.frozen - 1 - m.age)
    speed = math.sqrt(p.speed_air_x**2 + p.speed_y**2)
    if row.drive == FLIGHT and speed > 0.0:
        m.aim_x = p.speed_air_x / speed
        m.aim_y = p.speed_y / speed


@rule
def _note_shots(before, p, m, row, tables):
    """Shots that a move stored or fired on this frame."""
    if row.stores and p.action == before.action and p.action_frame < before.action_frame:
        store_shot(m)
    entry = tables.actions[m.character_row, p.action]
    for i in range(entry.first_hit, entry.first_hit + entry.num_hits):
        if tables.hits[i].stored and tables.hits[i].start == p.action_frame and m.stored > 0:
            m.stored -= 1


@rule
def _go_on(before, p, m, c):
    """One more frame of the same action."""
    if p.action == a.CLIFF_WAIT and ledge.is_neutral(m):
        m.ledge_ready = 1
    if p.action == a.JUMP_SQUAT and not jump_held(m):
        m.short_hop = 1
    elif p.action == a.TURN_RUN and p.facing != before.facing:
        m.dash_turn = 1
    elif p.action == a.TURN and m.dash_turn == 0 and p.action_frame < c.turn_flip:
        m.dash_turn = 2 if -m.stick_x * p.facing >= DASH_STICK and m.x_age < DASH_AGE else 0
    elif p.action == a.DASH_ATTACK:
        m.dash_grab = max(m.dash_grab - 1, 0)
    elif p.action == a.RUN:
        m.run_lock = max(m.run_lock - 1, 0)
    elif p.action == a.SQUAT:
        if m.drop_in > 0:
            m.drop_in -= 1
        elif flicked_through(m):
            m.drop_in = DROP_FRAMES
    _follow_shield(p, m)


@rule
def _follow_shield(p, m):
    if p.action == a.GUARD_ON or p.action == a.GUARD or p.action == a.GUARD_REFLECT:
        m.guard_lock = max(m.guard_lock - 1, 0)
        m.dash_grab = max(m.dash_grab - 1, 0)
        if not shield_held(m):
            m.let_go = 1


@rule
def _struggle(p, m):
    """Follow what a hurt or lying player asks for ahead, and how long it lies."""
    m.lie_for -= 1.0
    if is_hurt(p.action) and p.hitstun > 0.0:
        buffer_jump(p, m)
    elif (p.action == a.DOWN_BOUND_UP or p.action == a.DOWN_BOUND) and m.pressed & (BUTTON_A | BUTTON_B | BUTTON_Z):
        m.jab_again = 1


@rule
def _restarts(before, p, m, tables):
    """Whether the action restarts, which differs from an animation that loops."""
    if p.action_frame >= before.action_frame or p.action <= a.REBIRTH_WAIT:
        return False
    return tables.actions[m.character_row, p.action].loop == 0


@rule
def _begin(before, p, m, c, tables):
    """An action starts or restarts."""
    m.rate = p.action_frame if is_throw(p.action) else FIRST_RATE[p.action]  # exactly: a throw begins one step in
    m.age = 0
    m.duration = 0.0
    m.hit_groups = 0
    if not same_use(before.action, p.action):
        m.staled = 0
    m.charge = 0.0
    m.jab_again = 0
    if p.action == a.JUMP_SQUAT:
        _note_jump(before, m)
    elif p.action == a.DASH:
        m.dash_fresh = 0 if before.action == a.TURN else 1
        m.x_age = NEVER
    elif p.action == a.SQUAT:
        m.drop_in = 0
    elif p.action == a.DASH_ATTACK:
        m.dash_grab = DASH_GRAB if a.DASH <= before.action <= a.RUN_DIRECT else 0
    elif p.action == a.GUARD_ON or p.action == a.GUARD_REFLECT:
        _raise_shield(before, p, m)
    elif p.action == a.GUARD:
        _follow_shield(p, m)
    elif p.action == a.TURN:
        m.dash_turn = 1 if dash_direction(m) != 0.0 else 0
    elif p.action == a.TURN_RUN:
        m.dash_turn = 0
    elif a.JUMP_AERIAL_F <= p.action <= a.JUMP_AERIAL_B:
        m.y_age = NEVER
    elif p.action == a.RUN:
        m.run_lock = RUN_LOCK if before.action == a.TURN_RUN else 0
    elif p.action == a.PLATFORM_DROP:
        m.y_age = NEVER
    elif before.action == a.DOWN_BOUND_UP or before.action == a.DOWN_BOUND:
        m.lie_for = LONGEST_LIE
    elif p.action == a.CLIFF_CATCH:
        m.intangible = ledge.INTANGIBLE_FRAMES
        m.ledge_ready = 0
    elif a.FALL_SPECIAL <= p.action <= a.FALL_SPECIAL_B and before.action < a.FALL_SPECIAL:
        m.landing_lag = AIR_DODGE_LANDING
        m.fall_drift = 1.0
        m.lands_hard = 0
    elif is_special(p, c):
        row = special_row(p, m, tables)
        m.landing_lag, m.fall_drift, m.lands_hard = row.landing_lag, row.fall_drift, row.lands_hard
        if row.starts and not is_special(before, c):
            begin_move(m)
    if before.action == a.JUMP_SQUAT and m.y_age > 0:
        m.y_age = NEVER
    if a.CLIFF_CATCH <= before.action <= a.CLIFF_ATTACK_QUICK and p.action != a.CLIFF_WAIT:
        m.ledge_lock = ledge.REGRAB_FRAMES
    if p.action < a.REBIRTH:
        forget_moves(m)
        m.stored = 0
    if a.REBIRTH <= before.action <= a.REBIRTH_WAIT < p.action:
        m.intangible = RESPAWN_INTANGIBLE
    _begin_landing(before, p, m, tables)


@rule
def _note_jump(before, m):
    """Whether button, stick or c-stick asked for a jump."""
    if a.GUARD_ON <= before.action <= a.GUARD_REFLECT:
        shield_jump_asked(m)
    else:
        jump_asked(m, RUN_JUMP_STICK)
    m.short_hop = 0


@rule
def _raise_shield(before, p, m):
    late = before.action == a.RUN or before.action == a.RUN_DIRECT
    late = late or (before.action == a.DASH and before.action_frame >= DASH_LATE)
    m.dash_grab = DASH_GRAB if late else 0
    m.guard_lock = GUARD_LOCK_FRAMES
    m.let_go = 0
    if p.action == a.GUARD_REFLECT:
        m.trigger_age = NEVER


@rule
def _begin_landing(before, p, m, tables):
    """Set length and rate of landing lag, which a replay shows only from its second frame on."""
    if p.action == a.LANDING:
        set_lag(m, tables, p.action, LANDING_FRAMES)
    elif p.action == a.LANDING_FALL_SPECIAL:
        falling = a.FALL_SPECIAL <= before.action <= a.FALL_SPECIAL_B or before.action >= a.FIRST_SPECIAL
        set_lag(m, tables, p.action, m.landing_lag if falling and m.landing_lag > 0.0 else AIR_DODGE_LANDING)
    elif a.LANDING_NAIR <= p.action <= a.LANDING_DAIR:
        set_lag(m, tables, p.action, attack_lag(m, tables, p.action))


@rule
def _surface_under(p, m, s):
    """Index of the surface stood on; the main floor where none is near."""
    best = 0
    gap = abs(p.y - surface_height(m, s, 0, p.x))
    for i in range(1, s.num_surfaces):
        inside = surface_left(m, s, i) - NEAR_FLOOR <= p.x <= surface_right(m, s, i) + NEAR_FLOOR
        if inside and abs(p.y - surface_height(m, s, i, p.x)) < gap:
            best = i
            gap = abs(p.y - surface_height(m, s, i, p.x))
    return best


@rule
def _follow_tilt(before, p, m):
    """Update the tilt of a shield."""
    if not is_shielding(before):
        m.tilt_x = m.tilt_y = 0.0
    elif is_shielding(p) and p.hitlag <= 0.0:
        tilt_shield(m)


@rule
def _follow_hull(before, p, m, tables):
    """Update the hull's bottom in the air, and for how long it stays where it is."""
    if p.on_ground:
        m.hull = 0.0
        m.hull_lock = 0
        return
    new = p.action != before.action
    struck = a.DAMAGE_HIGH_1 <= p.action <= a.DAMAGE_FLY_ROLL and p.hitlag > before.hitlag
    if struck:
        m.hull_lock = max(m.hull_lock - 1, 0)
    # What comes after the player has moved on this frame begins to count on the next.
    if (before.on_ground and (struck or p.action == a.FALL or not new)) or (new and p.action == a.CLIFF_CATCH):
        lock_hull(m)
    elif not struck:
        if before.on_ground or (new and a.JUMP_AERIAL_F <= p.action <= a.JUMP_AERIAL_B):
            lock_hull(m)
        rest_hull(p, m, tables)
