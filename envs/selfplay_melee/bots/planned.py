"""The bots that react to their opponent: shield-grabber, counter-hitter and edge-guarder."""

from __future__ import annotations

from typing import NamedTuple

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.bots.attack import strike
from selfplay_melee.bots.controls import (
    change_level,
    dash,
    draw,
    drift,
    face,
    flick_x,
    floats,
    jump,
    perform,
    shield,
    tap,
    walk,
)
from selfplay_melee.bots.footwork import idle_footwork
from selfplay_melee.bots.perception import (
    AERIALS,
    GRAB,
    GROUND_MOVES,
    distance,
    flies_free,
    is_off_stage,
    is_shielding,
    moves,
    place_after,
    side_of,
    stands_free,
    threatens,
)
from selfplay_melee.bots.reflexes import cushion, recover, reflexes
from selfplay_melee.controller import BUTTON_A
from selfplay_melee.phase import busy_for
from selfplay_melee.physics.actions.death import is_away
from selfplay_melee.physics.motion import sign

ANY_TIME = 60.0
CLOSE_MOVES = moves(a.JAB_1, a.UTILT, a.CATCH)
AIR_MOVES = moves(a.NAIR, a.FAIR, a.BAIR, a.UAIR)
CLOSE = 30.0
GRAB_RANGE = 16.0
LOW_SHIELD = 20.0
AHEAD = 12.0  # frames that movement looks ahead
BIG_OPENING = 12.0  # frames without control that are worth a run
DANCE_FRAMES = 24  # frames of one kind of footwork


class Style(NamedTuple):
    """Parameters of a bot."""

    reaction: float  # reaction time, frames
    attention: float  # probability of a decision to be taken at all
    courage: float  # probability of a plan to approach without an opening
    poke: float  # frames that an attack may take when the opponent is free to act
    spacing: float  # units that it likes to stay away
    jumps_in: float  # 1 if it goes in by air, else 0
    dances: float  # probability of filling a wait with footwork


COUNTER_HITTER = Style(reaction=16.0, attention=0.6, courage=0.2, poke=9.0, spacing=24.0, jumps_in=0.0, dances=0.0)
EDGE_GUARDER = Style(reaction=8.0, attention=1.0, courage=0.2, poke=60.0, spacing=30.0, jumps_in=1.0, dances=0.0)
ALL_ROUNDER = Style(reaction=6.0, attention=1.0, courage=0.35, poke=60.0, spacing=30.0, jumps_in=1.0, dances=1.0)


@rule
def play_shield_grabber(bot, pad, game, me, other, tables, stage):
    """Walk up, wait behind the shield, grab what is near; throw it off the stage, or up if that kills."""
    if reflexes(bot, pad, me, other, stage, 0.4) or recover(bot, pad, me, tables, stage, 0.4):
        return
    side = side_of(me, other)
    gap = distance(me, other)
    if game.frame >= bot.until:
        bot.plan = 1 if draw(bot) < 0.45 else 0  # hide behind the shield, or go
        bot.until = game.frame + 16 + int(24.0 * draw(bot))
    if is_shielding(me):
        danger = bot.plan == 1 or threatens(other, me, tables, stage)
        if other.on_ground and gap < GRAB_RANGE and me.facing == side and draw(bot) < 0.6:
            shield(pad)
            tap(bot, pad, BUTTON_A)
        elif me.shield > LOW_SHIELD and gap < CLOSE and danger:
            shield(pad)
    elif flies_free(me, tables):
        drift(pad, me, tables, stage, side)
        strike(bot, pad, me, other, tables, stage, AERIALS, 8.0, ANY_TIME)
    elif stands_free(me, tables) and not is_away(other):
        _approach_behind_shield(bot, pad, me, other, tables, stage, side, gap)


@rule
def _approach_behind_shield(bot, pad, me, other, tables, stage, side, gap):
    may_shield = gap < CLOSE and me.shield > LOW_SHIELD
    if may_shield and _noticed(other, 8.0) and threatens(other, me, tables, stage):
        shield(pad)
    elif me.facing != side and gap < CLOSE:
        face(pad, side)
    elif strike(bot, pad, me, other, tables, stage, CLOSE_MOVES, 4.0, ANY_TIME) or change_level(
        bot, pad, me, other, side
    ):
        return
    elif may_shield and bot.plan == 1:
        shield(pad)
    elif gap > 2.0 * CLOSE:
        dash(bot, pad, me, stage, side)
    else:
        walk(pad, me, stage, side)


@rule
def play_counter_hitter(bot, pad, game, me, other, tables, stage):
    """Stay just out of reach, shield attacks, punish misses; approach if nothing happens for long."""
    if reflexes(bot, pad, me, other, stage, 0.45) or recover(bot, pad, me, tables, stage, 0.45):
        return
    _fight(bot, pad, game, me, other, tables, stage, COUNTER_HITTER)


@rule
def play_edge_guarder(bot, pad, game, me, other, tables, stage):
    """Play as the counter-hitter with better reactions; follow an opponent off the stage or wait at the edge."""
    _guard_and_fight(bot, pad, game, me, other, tables, stage, EDGE_GUARDER, 0.55)


@rule
def play_all_rounder(bot, pad, game, me, other, tables, stage):
    """Play as the edge-guarder, without idle moments, with a shorter reaction time, dash-dances and wavedashes."""
    _guard_and_fight(bot, pad, game, me, other, tables, stage, ALL_ROUNDER, 0.9)


@rule
def _guard_and_fight(bot, pad, game, me, other, tables, stage, style, skill):
    if reflexes(bot, pad, me, other, stage, skill):
        return
    hunted = is_off_stage(other, stage) and not is_away(other)
    if hunted and _hunt(bot, pad, me, other, tables, stage):
        return
    if recover(bot, pad, me, tables, stage, skill):
        return
    if hunted or a.CLIFF_CATCH <= other.action <= a.CLIFF_WAIT:
        _guard_edge(bot, pad, me, other, tables, stage)
    else:
        _fight(bot, pad, game, me, other, tables, stage, style)


@rule
def _noticed(other, frames):
    """Whether the opponent's action has lasted longer than the reaction time."""
    return other.action_frame >= frames


@rule
def _fight(bot, pad, game, me, other, tables, stage, style):
    x, _ = place_after(other, tables, stage, AHEAD)
    side = 1.0 if x >= me.x else -1.0
    gap = abs(x - me.x)
    if game.frame >= bot.until:
        bot.plan = 1 if draw(bot) < style.courage else 0  # go in, or wait
        bot.until = game.frame + 24 + int(24.0 * draw(bot))
    if is_shielding(me):
        _behind_shield(bot, pad, me, other, tables, stage, side, gap)
    elif me.on_ground == 0:
        _in_the_air(bot, pad, me, other, tables, stage, side)
    elif not stands_free(me, tables) or draw(bot) > style.attention:
        return
    elif is_away(other) or other.invulnerable:
        _keep_away(bot, pad, game, me, stage, side, gap, style)
    else:
        _on_the_ground(bot, pad, game, me, other, tables, stage, side, gap, style)


@rule
def _on_the_ground(bot, pad, game, me, other, tables, stage, side, gap, style):
    """Shield against attacks, punish openings, approach if the plan says so, poke, or keep away."""
    seen = _noticed(other, style.reaction)
    if seen and me.shield > LOW_SHIELD and threatens(other, me, tables, stage):
        shield(pad)
        return
    opening = busy_for(other, tables) if seen or other.hitstun > 0.0 else 0.0
    if opening > 0.0 and strike(bot, pad, me, other, tables, stage, GROUND_MOVES | GRAB, 4.0, opening + 4.0):
        return
    brave = bot.plan == 1
    blocking = is_shielding(other)
    if style.jumps_in > 0.0 and brave and not blocking and opening < BIG_OPENING and GRAB_RANGE < gap < 1.5 * CLOSE:
        jump(bot, pad, side)
    elif brave or blocking or opening > BIG_OPENING:
        _go_in(bot, pad, me, other, tables, stage, side, gap)
    elif not strike(bot, pad, me, other, tables, stage, GROUND_MOVES, 4.0, style.poke):
        _keep_away(bot, pad, game, me, stage, side, gap, style)


@rule
def _behind_shield(bot, pad, me, other, tables, stage, side, gap):
    """Keep the shield up under attack; then grab a near opponent, or jump at one that cannot act."""
    if me.shield <= LOW_SHIELD:
        return
    if threatens(other, me, tables, stage):
        shield(pad)
    elif other.on_ground and gap < GRAB_RANGE and me.facing == side:
        shield(pad)
        tap(bot, pad, BUTTON_A)
    elif gap < 1.3 * CLOSE and busy_for(other, tables) > BIG_OPENING:
        jump(bot, pad, side)


@rule
def _in_the_air(bot, pad, me, other, tables, stage, side):
    drift(pad, me, tables, stage, side)
    cushion(bot, pad, me, stage)
    if flies_free(me, tables):
        strike(bot, pad, me, other, tables, stage, AIR_MOVES, 4.0, ANY_TIME)


@rule
def _go_in(bot, pad, me, other, tables, stage, side, gap):
    running = (me.action == a.DASH or me.action == a.RUN) and me.facing == side
    if strike(bot, pad, me, other, tables, stage, GROUND_MOVES | GRAB, 4.0, ANY_TIME):
        return
    if change_level(bot, pad, me, other, side):
        return
    if me.facing != side and gap < GRAB_RANGE:
        face(pad, side)
    elif other.y - me.y > 20.0 and gap < CLOSE:
        jump(bot, pad, side)
    elif gap < CLOSE and running:
        perform(bot, pad, me, a.DASH_ATTACK, side)
    elif gap < GRAB_RANGE:
        walk(pad, me, stage, side)
    else:
        dash(bot, pad, me, stage, side)


@rule
def _keep_away(bot, pad, game, me, stage, side, gap, style):
    """Hold a distance that no attack crosses at once, with the stage behind."""
    spacing = style.spacing
    if gap < spacing and stage.surface_right[0] + side * me.x > 30.0:
        dash(bot, pad, me, stage, -side)
    elif gap > spacing + 18.0:
        walk(pad, me, stage, side)
    elif style.dances > 0.0:
        idle_footwork(bot, pad, me, game.frame, stage, game.frame // DANCE_FRAMES)
    elif me.facing != side:
        face(pad, side)


@rule
def _hunt(bot, pad, me, other, tables, stage):
    """Follow the opponent off the stage while the way back is safe; whether it does."""
    if not floats(me, tables) or me.on_ground or me.jumps_left == 0 or me.y < stage.surface_y[0] - 10.0:
        return False
    if abs(me.x) > stage.surface_right[0] + 35.0 or not flies_free(me, tables):
        return False
    pad.main_x = side_of(me, other)
    strike(bot, pad, me, other, tables, stage, AERIALS, 2.0, ANY_TIME)
    return True


@rule
def _guard_edge(bot, pad, me, other, tables, stage):
    """Wait at the edge to which the opponent must return, and hit or jump at it when it is near."""
    out = sign(other.x)
    if me.on_ground == 0:
        _in_the_air(bot, pad, me, other, tables, stage, side_of(me, other))
        return
    if not stands_free(me, tables) or strike(bot, pad, me, other, tables, stage, GROUND_MOVES, 2.0, ANY_TIME):
        return
    gap = stage.surface_right[0] - out * me.x
    high = other.y > stage.surface_y[0] - 15.0 and abs(other.x) < stage.surface_right[0] + 45.0
    if gap > 40.0:
        dash(bot, pad, me, stage, out)
    elif high and gap < 25.0 and is_off_stage(other, stage) and floats(me, tables):
        jump(bot, pad, out)
    elif gap > 16.0:
        walk(pad, me, stage, out)
    elif gap < 6.0:
        flick_x(bot, pad, -out)
    elif me.facing != out:
        face(pad, out)
