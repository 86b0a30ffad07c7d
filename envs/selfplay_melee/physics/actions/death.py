"""Losing a stock, coming back and the end of a game."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.shield import FULL_SHIELD
from selfplay_melee.physics.change import enter, forget_moves, start_fall
from selfplay_melee.physics.memory import NEVER
from selfplay_melee.physics.stages.stage import blast_zone

DEAD_FRAMES = 60
STAR_FRAMES, STAR_STOCK = 176, 131  # of a star KO, and when it costs the stock
STAR_SPEED = 2.4  # upward speed of a launch from which the top of the stage is an end
REBIRTH_FRAMES = 60
LONGEST_WAIT = 240  # frames that the platform carries a player
RESPAWN_INTANGIBLE = 120.0
DESCENT = 1.15  # units a frame of the platform
CREDIT_FRAMES = 600  # a death so soon after a hit is the other player's work, else a self-destruct
TIMER = 28800
STOCKS = 4


@rule
def check_blast_zones(p, m, s):
    """Take a stock from a player beyond a blast zone; only a launch carries one over the top, for a star KO."""
    zone = blast_zone(p, s)
    if zone == 0 or is_dead(p):
        return
    star = zone - 1 == a.DEAD_UP
    if star and p.speed_attack_y < STAR_SPEED:
        return
    if not star:
        _lose_stock(p, m)
    enter(p, m, a.DEAD_UP_STAR if star else zone - 1)  # DEAD_DOWN, DEAD_LEFT, DEAD_RIGHT
    _reset(p, m)


@rule
def _lose_stock(p, m):
    p.stocks -= 1
    if m.last_hit_by_frames > CREDIT_FRAMES:
        m.self_destructs += 1


@rule
def _reset(p, m):
    p.shield = FULL_SHIELD
    p.hitlag = 0.0
    p.hitstun = 0.0
    p.speed_air_x = 0.0
    p.speed_ground_x = 0.0
    p.speed_y = 0.0
    p.speed_attack_x = 0.0
    p.speed_attack_y = 0.0
    p.on_ground = 0
    p.jumps_left = m.air_jumps + 1
    m.surface = -1
    m.fast_fall = 0
    m.launch = 0
    m.knockback = 0.0
    m.ledge = 0
    m.ledge_lock = 0.0
    m.intangible = 0.0
    m.drop_from = -1
    if p.action != a.DEAD_UP_STAR:
        m.last_hit_by_frames = NEVER
    forget_moves(m)
    m.stored = 0


@rule
def is_away(p):
    """Dead or on the respawn platform."""
    return p.action <= a.REBIRTH_WAIT


@rule
def is_dead(p):
    """Whether the player waits for its respawn."""
    return p.action < a.REBIRTH


@rule
def dead(p, m, s, side):
    """Wait for the platform; ``side`` is where the seat's platform comes down."""
    star = p.action == a.DEAD_UP_STAR
    if star and m.age == STAR_STOCK:
        _lose_stock(p, m)
        m.last_hit_by_frames = NEVER
    if m.age < (STAR_FRAMES if star else DEAD_FRAMES) or p.stocks <= 0:
        return
    enter(p, m, a.REBIRTH)
    p.percent = 0.0
    p.x = side * s.respawn_x
    p.y = s.respawn_y + DESCENT * REBIRTH_FRAMES
    p.facing = -side


@rule
def rebirth(p, m, s):
    """Come down on the respawn platform, then wait for an input."""
    if p.action == a.REBIRTH:
        p.y = s.respawn_y + DESCENT * max(REBIRTH_FRAMES - m.age, 0.0)
        if m.age < REBIRTH_FRAMES:
            return
        p.y = s.respawn_y
        enter(p, m, a.REBIRTH_WAIT)
    acted = m.pressed != 0 or m.stick_x != 0.0 or m.stick_y != 0.0 or m.c_pressed != 0
    if acted or m.age > LONGEST_WAIT:
        p.jumps_left = m.air_jumps
        start_fall(p, m)
        p.jumps_left = m.air_jumps + 1
        p.action = a.FALL
        m.intangible = RESPAWN_INTANGIBLE


@rule
def is_over(game, players):
    """A seat has no stock left, or the time is up."""
    return game.frame >= TIMER or players[0].stocks <= 0 or players[1].stocks <= 0
