"""Reconstruct the mock's memory of the players of a replay.

A replay lacks, for example, the ages of stick inputs, the staleness queue and the ledge lockout. One pass over the
frames derives them with the mock's own rules; the memory of a frame depends on this frame and earlier ones only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compile import compiled, rule
from envs.melee import actions as a
from envs.melee.controller import BUTTON_A, BUTTON_B, BUTTON_Z
from envs.melee.physics import grab, ledge
from envs.melee.physics.air import AIR_DODGE_LANDING
from envs.melee.physics.change import FIRST_RATE, forget_moves, hull_height, lock_hull
from envs.melee.physics.damage import RECOIL_FRICTION, is_hurt, spend_flick, start_hurt
from envs.melee.physics.death import RESPAWN_INTANGIBLE
from envs.melee.physics.down import LONGEST_LIE, is_down
from envs.melee.physics.frame import clear_memory, tick
from envs.melee.physics.ground import PLATFORM_DROP_LOCK
from envs.melee.physics.hit import recoil
from envs.melee.physics.holds import note_hold
from envs.melee.physics.hurt import buffer_jump
from envs.melee.physics.inputs import dash_direction, jump_held, jump_pressed, read_inputs
from envs.melee.physics.knockback import LAUNCH_SPEED
from envs.melee.physics.landing import LANDING_FRAMES, attack_lag, set_lag
from envs.melee.physics.memory import MEMORY, NEVER
from envs.melee.physics.motion import sign, toward
from envs.melee.physics.platforms import platforms_at
from envs.melee.physics.run import RUN_LOCK
from envs.melee.physics.shield import SHIELD_DAMAGE, SHIELD_DRAIN
from envs.melee.physics.special import is_special, special_row
from envs.melee.physics.stage import surface_height, surface_left, surface_right
from envs.melee.physics.stale import NO_MOVE, SPECIAL_MOVE, move_of, remember_move, same_use
from envs.melee.state import NUM_SEATS, as_records, records
from envs.melee.tables import load_tables

if TYPE_CHECKING:
    from envs.melee.replay import Replay

NEAR_FLOOR = 0.5  # units beyond an edge at which feet may still be on the surface

OFFSCREEN_DAMAGE = 1.0  # percent that a player beyond the camera takes every second
BURST = 8  # frames within which projectiles of one use of a move hit after each other
SAME_SPEED = 1e-4  # a replay has single precision


class ReplayArrays(NamedTuple):
    """T frames of a replay."""

    game: NDArray[np.void]  # GAME [T]
    players: NDArray[np.void]  # PLAYER [T, 2]
    controllers: NDArray[np.void]  # CONTROLLER [T, 2]
    memory: NDArray[np.void]  # MEMORY [T, 2]


def reconstruct_memory(replay: Replay) -> NDArray[np.void]:
    """MEMORY [T, 2] of a replay whose stage and characters are in the tables."""
    memory = records(MEMORY, len(replay.state.players), NUM_SEATS)
    _follow(replay_arrays(replay, memory), load_tables())
    return memory


def replay_arrays(replay: Replay, memory: NDArray[np.void]) -> ReplayArrays:
    """A replay as compiled functions take it."""
    state = replay.state
    return ReplayArrays(as_records(state.game), _players(replay), as_records(state.controllers), memory)


def _players(replay: Replay) -> NDArray[np.void]:
    """PLAYER [T, 2]; speeds that an old file does not record are differences of positions."""
    players = as_records(replay.state.players.copy())
    if "players.speed_y" in replay.absent:
        for name, step in (("speed_air_x", "x"), ("speed_ground_x", "x"), ("speed_y", "y")):
            players[name] = np.diff(players[step], axis=0, prepend=players[step][:1])
        players["speed_attack_x"] = players["speed_attack_y"] = 0.0
    if "players.hitlag" in replay.absent:
        players["hitlag"] = 0.0
    return players


@compiled
def _follow(real, tables):
    game, players, controllers, memory = real
    stage_row = tables.stage_rows[game[0].stage]
    s = tables.stages[stage_row]
    for t in range(len(players)):
        for seat in range(2):
            if t > 0:
                memory[t, seat] = memory[t - 1, seat]
            p, m = players[t, seat], memory[t, seat]
            if t == 0:
                clear_memory(m)
            m.stage_row = stage_row
            platforms_at(game[t], m, s)
            m.character_row = tables.character_rows[p.character]
            read_inputs(m, controllers[t, seat])
            tick(m)
            if t > 0:
                _remember(players[t - 1, seat], p, m, s, tables)
        if t > 0:
            for seat in range(2):
                _note_hits(players, memory, t, seat, tables)
                _note_hold(players, memory, t, seat, tables)
                memory[t, seat].rival_ledge = memory[t - 1, 1 - seat].ledge


@rule
def _remember(before, p, m, s, tables):
    """Update a memory from frame ``before`` to ``p``; the inputs of this frame are already read."""
    c = tables.characters[m.character_row]
    m.air_jumps = int(c.air_jumps)
    lying = a.DOWN_BOUND_UP <= p.action <= a.DOWN_ROLL_B
    m.surface = _surface_under(p, m, s) if p.on_ground or lying else -1
    _follow_hull(before, p, m, tables)
    m.fast_fall = 1 if not p.on_ground and abs(p.speed_y + c.fast_fall_speed) < SAME_SPEED else 0
    m.launch = 1 if p.hitlag > 0.0 and p.hitstun > 0.0 and (is_hurt(p.action) or is_down(p)) else 0
    m.ledge = int(sign(p.x)) if a.CLIFF_CATCH <= p.action <= a.CLIFF_JUMP_QUICK_1 else 0
    if before.hitlag <= 1.0:
        m.since_launch = min(m.since_launch + 1, NEVER)
        _struggle(p, m)
    elif before.hitstun > 0.0 and is_hurt(before.action):
        spend_flick(m)
    if p.hitlag <= 0.0:
        m.recoil = toward(m.recoil, 0.0, RECOIL_FRICTION * c.traction)
    if before.action == a.GUARD_ON and p.action == a.GUARD_REFLECT:
        m.age += 1
    elif p.action != before.action or (p.action_frame < before.action_frame and p.action > a.REBIRTH_WAIT):
        _begin(before, p, m, c, tables)
    else:
        m.age += 0 if p.hitlag > 0.0 else 1
        if a.FSMASH_HIGH <= p.action <= a.DSMASH and p.hitlag <= 0.0 and p.action_frame == before.action_frame:
            m.charge += 1.0
        if p.hitlag <= 0.0 and p.action_frame > before.action_frame:
            m.rate = p.action_frame - before.action_frame
        if p.action == a.CLIFF_WAIT and ledge.is_neutral(m):
            m.ledge_ready = 1
        if p.action == a.JUMP_SQUAT and not jump_held(m):
            m.short_hop = 1
        if p.action == a.TURN_RUN and p.facing != before.facing:
            m.dash_turn = 1


@rule
def _struggle(p, m):
    """Follow what a hurt or lying player asks for ahead, and how long it lies."""
    m.lie_for -= 1.0
    if is_hurt(p.action) and p.hitstun > 0.0:
        buffer_jump(p, m)
    elif (p.action == a.DOWN_BOUND_UP or p.action == a.DOWN_BOUND) and m.pressed & (BUTTON_A | BUTTON_B | BUTTON_Z):
        m.jab_again = 1


@rule
def _begin(before, p, m, c, tables):
    """An action starts or restarts."""
    m.rate = FIRST_RATE[p.action]
    m.age = 0
    m.duration = 0.0
    m.hit_groups = 0
    if not same_use(before.action, p.action):
        m.staled = 0
    m.charge = 0.0
    m.jab_again = 0
    if p.action == a.JUMP_SQUAT:
        jump_pressed(m)  # notes whether button or stick asked for it
        m.short_hop = 0
    elif p.action == a.TURN:
        m.dash_turn = 1 if dash_direction(m) != 0.0 else 0
    elif p.action == a.TURN_RUN:
        m.dash_turn = 0
    elif a.JUMP_AERIAL_F <= p.action <= a.JUMP_AERIAL_B or (
        p.action <= a.JUMP_B and p.action >= a.JUMP_F and m.stick_jump
    ):
        m.y_age = NEVER
    elif p.action == a.RUN:
        m.run_lock = RUN_LOCK if before.action == a.TURN_RUN else 0
    elif p.action == a.PLATFORM_DROP:
        m.y_age = NEVER
        m.drop_from = m.surface
        m.platform_lock = PLATFORM_DROP_LOCK
    elif before.action == a.DOWN_BOUND_UP or before.action == a.DOWN_BOUND:
        m.lie_for = LONGEST_LIE
    elif p.action == a.CLIFF_CATCH:
        m.intangible = ledge.INTANGIBLE_FRAMES
        m.ledge_ready = 0
    elif a.FALL_SPECIAL <= p.action <= a.FALL_SPECIAL_B and before.action < a.FALL_SPECIAL:
        m.landing_lag = AIR_DODGE_LANDING
        m.fall_drift = 1.0
    elif is_special(p, c):
        row = special_row(p, m, tables)
        m.landing_lag, m.fall_drift = row.landing_lag, row.fall_drift
    if a.CLIFF_CATCH <= before.action <= a.CLIFF_ATTACK_QUICK and p.action != a.CLIFF_WAIT:
        m.ledge_lock = ledge.REGRAB_FRAMES
    if p.action < a.REBIRTH:
        forget_moves(m)
    if a.REBIRTH <= before.action <= a.REBIRTH_WAIT < p.action:
        m.intangible = RESPAWN_INTANGIBLE
    _begin_landing(before, p, m, tables)


@rule
def _begin_landing(before, p, m, tables):
    """Set length and rate of landing lag, which a replay shows only from its second frame on."""
    if p.action == a.LANDING:
        set_lag(m, p.action, LANDING_FRAMES)
    elif p.action == a.LANDING_FALL_SPECIAL:
        falling = a.FALL_SPECIAL <= before.action <= a.FALL_SPECIAL_B or before.action >= a.FIRST_SPECIAL
        set_lag(m, p.action, m.landing_lag if falling and m.landing_lag > 0.0 else AIR_DODGE_LANDING)
    elif a.LANDING_NAIR <= p.action <= a.LANDING_DAIR:
        set_lag(m, p.action, attack_lag(m, tables, p.action))


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
def _follow_hull(before, p, m, tables):
    """Update the hull's bottom in the air; the first frames of a jump keep it at the feet."""
    if p.on_ground:
        m.hull = 0.0
        return
    jumped = a.JUMP_AERIAL_F <= p.action <= a.JUMP_AERIAL_B and p.action != before.action
    if before.on_ground or jumped:
        lock_hull(m)
    if p.hitlag <= 0.0:
        m.hull_lock = max(m.hull_lock - 1, 0)
        m.hull = hull_height(p, m, tables)


@rule
def _note_hits(players, memory, t, seat, tables):
    """Record a hit of this seat on the other one: hit groups, staleness, credit."""
    p, m = players[t, seat], memory[t, seat]
    victim, hurt = players[t, 1 - seat], memory[t, 1 - seat]
    taken = victim.percent - players[t - 1, 1 - seat].percent
    struck = p.hitlag > players[t - 1, seat].hitlag
    holding = a.CATCH_ATTACK <= p.action <= a.THROW_D and p.action != a.CATCH_CUT
    rose = taken > OFFSCREEN_DAMAGE or (taken > 0.0 and (struck or holding))
    again = not struck and not holding and hurt.last_hit_by_frames < BURST
    if rose:
        hurt.last_hit_by_frames = 0
        if is_hurt(victim.action) or a.DOWN_DAMAGE_UP <= victim.action <= a.DOWN_DAMAGE:
            start_hurt(hurt)
            hurt.lie_for = victim.hitstun
        hurt.knockback = math.sqrt(victim.speed_attack_x**2 + victim.speed_attack_y**2) / LAUNCH_SPEED
    attack = a.JAB_1 <= p.action <= a.DAIR or p.action >= a.FIRST_SPECIAL
    if is_hurt(p.action):
        m.recoil = 0.0
    if attack and p.on_ground and victim.action == a.GUARD_STUN and struck:
        taken = players[t - 1, 1 - seat].shield - victim.shield - SHIELD_DRAIN * hurt.trigger
        m.recoil = -sign(victim.x - p.x) * recoil(hurt, max(taken, 0.0) / SHIELD_DAMAGE)
    if attack and struck and victim.hitlag > 0.0:
        m.hit_groups = -1
    if rose and not again:
        traded = struck and is_hurt(p.action) and p.percent > players[t - 1, seat].percent
        user = players[t - 1, seat] if traded else p
        _note_use(user, m, memory[t - 1, seat].staled if traded else m.staled, tables, struck or holding)


@rule
def _note_use(p, m, staled, tables, direct):
    """Put the move that dealt damage into the queue; a hit that its user does not feel is a projectile's."""
    move = move_of(tables.characters[m.character_row], p.action)
    if not direct:
        remember_move(m, SPECIAL_MOVE)
    elif staled == 0 and move != NO_MOVE:
        m.staled = 1
        remember_move(m, move)


@rule
def _note_hold(players, memory, t, seat, tables):
    """Record how far a grab, a pummel or a throw of this seat has come."""
    p, m = players[t, seat], memory[t, seat]
    other, held = players[t, 1 - seat], memory[t, 1 - seat]
    before = players[t - 1, 1 - seat]
    if not (grab.is_holding(p) and grab.is_held(other)):
        return
    if not grab.is_held(before):
        grab.take_grip(p, before, held)
    elif grab.wears_out(before.action) and before.hitlag <= 1.0:
        grab.loosen(held)
    if other.hitlag > before.hitlag:
        held.held_for -= 1.0
    note_hold(p, m, tables)
