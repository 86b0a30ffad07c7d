"""The players that watch their opponent: shield-grabber, counter-hitter and edge-guarder."""

from __future__ import annotations

from envs.melee import actions as a
from envs.melee.bots.attack import strike
from envs.melee.bots.hands import dash, draw, face, flick_x, jump, perform, shield, tap, walk
from envs.melee.bots.senses import (
    AERIALS,
    GRAB,
    GROUND_MOVES,
    busy_for,
    distance,
    flies_free,
    is_away,
    is_off_stage,
    is_shielding,
    moves,
    place_after,
    side_of,
    stands_free,
    threatens,
)
from envs.melee.bots.survive import cushion, recover, reflexes
from envs.melee.controller import BUTTON_A
from envs.melee.physics.compile import rule
from envs.melee.physics.motion import sign

ANY_TIME = 60.0
QUICK = moves(a.JAB_1, a.FTILT, a.UTILT, a.DTILT, a.CATCH)
CLOSE_MOVES = moves(a.JAB_1, a.UTILT)
CLOSE = 30.0
LOW_SHIELD = 20.0
AHEAD = 12.0  # frames that movement looks ahead


@rule
def _noticed(other, frames):
    """What the other does has been going on long enough to be reacted to."""
    return other.action_frame >= frames


@rule
def play_shield_grabber(bot, pad, game, me, other, tables, stage):
    """Walk up, wait behind the shield, grab what comes near; throw it out, or up when that kills."""
    if reflexes(bot, pad, me, other, tables, stage, 0.5) or recover(bot, pad, me, tables, stage, 0.5):
        return
    side = side_of(me, other)
    gap = distance(me, other)
    if game.frame >= bot.until:
        bot.plan = 1 if draw(bot) < 0.45 else 0  # hide behind the shield, or go
        bot.until = game.frame + 16 + int(24.0 * draw(bot))
    if is_shielding(me):
        if other.on_ground and gap < 16.0 and me.facing == side and draw(bot) < 0.6:
            shield(pad)
            tap(bot, pad, BUTTON_A)
        elif me.shield > LOW_SHIELD and gap < CLOSE and (bot.plan == 1 or threatens(other, me, tables, stage)):
            shield(pad)
        return
    if flies_free(me, tables):
        pad.main_x = side
        strike(bot, pad, me, other, tables, stage, AERIALS, 8.0, ANY_TIME)
        return
    if not stands_free(me, tables) or is_away(other):
        return
    if gap < CLOSE and me.shield > LOW_SHIELD and _noticed(other, 8.0) and threatens(other, me, tables, stage):
        shield(pad)
    elif me.facing != side and gap < CLOSE:
        face(pad, side)
    elif strike(bot, pad, me, other, tables, stage, GRAB | CLOSE_MOVES, 4.0, ANY_TIME):
        return
    elif gap < CLOSE and bot.plan == 1 and me.shield > LOW_SHIELD:
        shield(pad)
    elif gap > 60.0:
        dash(bot, pad, me, stage, side)
    else:
        walk(pad, me, stage, side)


@rule
def play_counter_hitter(bot, pad, game, me, other, tables, stage):
    """Stay just out of reach, shield what comes, punish what misses; go in when nothing happens."""
    if reflexes(bot, pad, me, other, tables, stage, 0.6) or recover(bot, pad, me, tables, stage, 0.6):
        return
    _fight(bot, pad, game, me, other, tables, stage, 12.0, 0.3)


@rule
def _fight(bot, pad, game, me, other, tables, stage, reaction, courage):
    x, _ = place_after(other, tables, stage, AHEAD)
    side = 1.0 if x >= me.x else -1.0
    gap = abs(x - me.x)
    if is_shielding(me):
        _behind_shield(bot, pad, me, other, tables, stage, side, gap)
        return
    if me.on_ground == 0:
        _in_the_air(bot, pad, me, other, tables, stage, side)
        return
    if not stands_free(me, tables):
        return
    if is_away(other) or other.invulnerable:
        _keep_away(bot, pad, me, stage, side, gap)
        return
    if game.frame >= bot.until:
        bot.plan = 1 if draw(bot) < courage else 0
        bot.until = game.frame + 24 + int(24.0 * draw(bot))
    seen = _noticed(other, reaction)
    if seen and me.shield > LOW_SHIELD and threatens(other, me, tables, stage):
        shield(pad)
        return
    opening = busy_for(other, tables) if seen or other.hitstun > 0.0 else 0.0
    if opening > 0.0 and strike(bot, pad, me, other, tables, stage, GROUND_MOVES | GRAB, 4.0, opening + 4.0):
        return
    if opening > 12.0 or bot.plan == 1 or is_shielding(other):
        _go_in(bot, pad, me, other, tables, stage, side, gap)
        return
    if strike(bot, pad, me, other, tables, stage, GROUND_MOVES, 4.0, ANY_TIME):
        return
    _keep_away(bot, pad, me, stage, side, gap)


@rule
def _behind_shield(bot, pad, me, other, tables, stage, side, gap):
    if me.shield <= LOW_SHIELD:
        return
    if threatens(other, me, tables, stage):
        shield(pad)
    elif other.on_ground and gap < 16.0 and me.facing == side:
        shield(pad)
        tap(bot, pad, BUTTON_A)


@rule
def _in_the_air(bot, pad, me, other, tables, stage, side):
    pad.main_x = side
    cushion(bot, pad, me, stage)
    if flies_free(me, tables):
        strike(bot, pad, me, other, tables, stage, AERIALS, 4.0, ANY_TIME)


@rule
def _go_in(bot, pad, me, other, tables, stage, side, gap):
    """Close the distance, then hit with whatever connects."""
    if strike(bot, pad, me, other, tables, stage, GROUND_MOVES | GRAB, 4.0, ANY_TIME):
        return
    if me.facing != side and gap < 12.0:
        face(pad, side)
    elif other.y - me.y > 20.0 and gap < 25.0:
        jump(bot, pad, side)
    elif gap < 28.0 and (me.action == a.DASH or me.action == a.RUN) and me.facing == side:
        perform(bot, pad, me, a.DASH_ATTACK, side)
    elif gap < 14.0:
        walk(pad, me, stage, side)
    else:
        dash(bot, pad, me, stage, side)


@rule
def _keep_away(bot, pad, me, stage, side, gap):
    """Hold a distance that no attack crosses at once, with the stage behind."""
    if gap < 24.0 and stage.surface_right[0] + side * me.x > 30.0:
        dash(bot, pad, me, stage, -side)
    elif gap > 42.0:
        walk(pad, me, stage, side)
    elif me.facing != side:
        face(pad, side)


@rule
def play_edge_guarder(bot, pad, game, me, other, tables, stage):
    """Fight like the counter-hitter, only bolder; whoever is off the stage is followed or awaited at the edge."""
    if reflexes(bot, pad, me, other, tables, stage, 0.8):
        return
    hunted = is_off_stage(other, stage) and not is_away(other)
    if hunted and _hunt(bot, pad, me, other, tables, stage):
        return
    if recover(bot, pad, me, tables, stage, 0.8):
        return
    if hunted or a.CLIFF_CATCH <= other.action <= a.CLIFF_WAIT:
        _guard_edge(bot, pad, me, other, tables, stage)
    else:
        _fight(bot, pad, game, me, other, tables, stage, 10.0, 0.6)


@rule
def _hunt(bot, pad, me, other, tables, stage):
    """Follow out over the edge while the way back is safe; whether it does."""
    if me.on_ground or me.jumps_left == 0 or me.y < stage.surface_y[0] - 10.0:
        return False
    if abs(me.x) > stage.surface_right[0] + 35.0 or not flies_free(me, tables):
        return False
    pad.main_x = side_of(me, other)
    strike(bot, pad, me, other, tables, stage, AERIALS, 2.0, ANY_TIME)
    return True


@rule
def _guard_edge(bot, pad, me, other, tables, stage):
    """Wait at the edge where the other must come back, and hit or jump at it when it comes near."""
    out = sign(other.x)
    if me.on_ground == 0:
        _in_the_air(bot, pad, me, other, tables, stage, side_of(me, other))
        return
    if not stands_free(me, tables):
        return
    if strike(bot, pad, me, other, tables, stage, GROUND_MOVES, 2.0, ANY_TIME):
        return
    gap = stage.surface_right[0] - out * me.x
    high = other.y > stage.surface_y[0] - 15.0 and abs(other.x) < stage.surface_right[0] + 45.0
    if gap > 40.0:
        dash(bot, pad, me, stage, out)
    elif high and gap < 25.0 and is_off_stage(other, stage):
        jump(bot, pad, out)
    elif gap > 16.0:
        walk(pad, me, stage, out)
    elif gap < 6.0:
        flick_x(bot, pad, -out)
    elif me.facing != out:
        face(pad, out)
