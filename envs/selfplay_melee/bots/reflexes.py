"""Reactions that all scripted players share: getting up, breaking free, throwing, recovering."""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.bots.controls import draw, flick_c, flick_x, mash, shield, tap
from selfplay_melee.bots.perception import is_off_stage
from selfplay_melee.controller import BUTTON_A, BUTTON_B, BUTTON_L, BUTTON_X, BUTTON_Z
from selfplay_melee.physics.angles import norm
from selfplay_melee.physics.motion import sign
from selfplay_melee.rng import mix, unit

LEDGE_X = 4.0  # units beside the edge that a recovery aims at
LEDGE_Y = 6.0  # units below it
INSIDE = 10.0  # from above it aims so far inside the edge
OVER = 8.0  # and so far over the floor
HIGH = 12.0  # units over the floor from which a double jump can wait
FAR = 40.0  # units from the edge at which it cannot
KILL_PERCENT = 110.0
TECH_HEIGHT = 25.0
SIDE_SPECIALS = 0.5  # probability of recovering by a side special that can


@rule
def reflexes(bot, pad, me, other, stage, skill):
    """Handle states that need no plan; whether the decision is made.

    ``skill`` from 0 to 1: probability of using a chance to tech, to influence a launch or to break free.
    """
    action = me.action
    if action <= a.REBIRTH:
        return True
    if action == a.REBIRTH_WAIT:
        if draw(bot) < 0.2:
            flick_x(bot, pad, -sign(me.x))
        return True
    if me.hitlag > 0.0 or me.hitstun > 0.0:
        _fly(bot, pad, me, stage, skill)
        return True
    if _is_stuck(action):
        if draw(bot) < skill:
            mash(bot, pad)
        return True
    if a.CATCH_PULL <= action <= a.THROW_D and action != a.CATCH_DASH and action != a.CATCH_CUT:
        _throw(bot, pad, me, other)
        return True
    if a.DOWN_BOUND_UP <= action <= a.DOWN_DAMAGE:
        _stand_up(bot, pad, me)
        return True
    if a.CLIFF_CATCH <= action <= a.CLIFF_WAIT:
        _climb(bot, pad, me)
        return True
    if action == a.JUMP_SQUAT:
        pad.main_x = sign(other.x - me.x)
        if other.y - me.y > HIGH:
            pad.buttons |= BUTTON_X  # held on: a full hop
        return True
    return False


@rule
def _is_stuck(action):
    return a.CAPTURE_PULLED_HIGH <= action <= a.CAPTURE_DAMAGE or action == a.DIZZY


@rule
def _fly(bot, pad, me, stage, skill):
    """After a hit: hold the stick inwards across the launch, and tech close to the floor."""
    if draw(bot) < skill:
        pad.main_x = -sign(me.x)
        pad.main_y = 0.5
    close = me.y - stage.surface_y[0] < TECH_HEIGHT and me.speed_y + me.speed_attack_y < 0.0
    if a.DAMAGE_FLY_HIGH <= me.action <= a.DAMAGE_FLY_ROLL and close and draw(bot) < 0.3 * skill:
        tap(bot, pad, BUTTON_L)


@rule
def _throw(bot, pad, me, other):
    """Hit the held player now and then, then throw it off the nearer side, or up to kill."""
    if me.action != a.CATCH_WAIT:
        return
    if draw(bot) < 0.2:
        tap(bot, pad, BUTTON_A)
    elif other.percent > KILL_PERCENT:
        flick_c(bot, pad, 0.0, 1.0)
    else:
        flick_c(bot, pad, sign(me.x), 0.0)


@rule
def _stand_up(bot, pad, me):
    chance = draw(bot)
    if chance < 0.15:
        tap(bot, pad, BUTTON_A)
    elif chance < 0.3:
        flick_x(bot, pad, -sign(me.x))
    elif chance < 0.4:
        shield(pad)


@rule
def _climb(bot, pad, me):
    """Leave the ledge after a moment, in a random way."""
    chance = draw(bot)
    if chance < 0.06:
        tap(bot, pad, BUTTON_A)
    elif chance < 0.12:
        tap(bot, pad, BUTTON_X)
    elif chance < 0.2:
        flick_x(bot, pad, -sign(me.x))
    elif chance < 0.26:
        tap(bot, pad, BUTTON_L)


@rule
def recover(bot, pad, me, tables, stage, skill):
    """Return to the stage; False if the player is not off it. Below a ``skill`` of 0.2 without the up special."""
    if me.on_ground:
        return False
    helpless = a.FALL_SPECIAL <= me.action <= a.FALL_SPECIAL_B or me.action == a.AIR_DODGE
    if not (is_off_stage(me, stage) or helpless or me.action >= a.FIRST_SPECIAL):
        return False
    pad.main_x = -sign(me.x)
    if me.action >= a.FIRST_SPECIAL:
        _aim(pad, me, stage)
    elif not helpless and me.speed_y + me.speed_attack_y < 0.0:
        _rise(bot, pad, me, tables, stage, skill)
    return True


@rule
def _rise(bot, pad, me, tables, stage, skill):
    """Falling beside the stage: double jump, or the up special when that is used up and it is time."""
    c = tables.characters[tables.character_rows[me.character]]
    height = me.y - stage.surface_y[0]
    if me.jumps_left > 0:
        if height < HIGH or abs(me.x) - stage.surface_right[0] > FAR:
            tap(bot, pad, BUTTON_X)
    elif skill >= 0.2 and _by_side_special(bot, me, c, tables, stage, height):
        tap(bot, pad, BUTTON_B)
    elif skill >= 0.2 and _recovers(me, c, tables) and height < _sinking(me, c, tables, c.up_air) - LEDGE_Y:
        pad.main_x = 0.0
        pad.main_y = 1.0
        tap(bot, pad, BUTTON_B)


@rule
def _recovers(me, c, tables):
    """Whether the up special may gain height: one after which the player can act at once, such as sing, does not."""
    row = tables.character_rows[me.character]
    return c.up_air == 0.0 or tables.specials[row, int(c.up_air) - a.FIRST_SPECIAL].next_air != 0


@rule
def _by_side_special(bot, me, c, tables, stage, height):
    """Whether this is a recovery by side special, which carries the player in at the height of the ledge or over it."""
    if c.side_air == 0.0 or unit(mix(bot.seed + me.stocks, int(me.percent))) >= SIDE_SPECIALS:
        return False
    out = abs(me.x) - stage.surface_right[0]
    at = height - _sinking(me, c, tables, c.side_air)
    return 0.0 < out < _travel(me, c, tables) and -LEDGE_Y < at < HIGH


@rule
def _travel(me, c, tables):
    """Units that the animation of the side special carries the player."""
    row = tables.character_rows[me.character]
    follows = int(tables.specials[row, int(c.side_air) - a.FIRST_SPECIAL].next_air)
    entry = tables.actions[row, follows]
    distance = 0.0
    for i in range(entry.first_motion, entry.first_motion + entry.num_motion):
        distance += tables.points[i, 0]
    return distance


@rule
def _sinking(me, c, tables, special):
    """Units that the player falls during the start of a special move."""
    if special == 0.0:
        return 0.0
    row = tables.character_rows[me.character]
    start = tables.specials[row, int(special) - a.FIRST_SPECIAL]
    frames = tables.actions[row, int(special)].frames
    gravity = start.gravity if start.gravity >= 0.0 else c.gravity
    return 0.5 * gravity * frames * frames - start.start_y * frames


@rule
def _aim(pad, me, stage):
    """Stick at the ledge from below, over it from above, in the steps that a controller has."""
    out = abs(me.x) - stage.surface_right[0]
    height = me.y - stage.surface_y[0]
    if height > 0.0:
        inwards, up = max(out + INSIDE, INSIDE), OVER - height
    else:
        up = -LEDGE_Y - height
        inwards = max(out - LEDGE_X, 0.4 * up)
    length = max(norm(inwards, up), 1e-9)
    pad.main_x = -sign(me.x) * round(8.0 * inwards / length) / 8.0
    pad.main_y = round(8.0 * up / length) / 8.0


@rule
def cushion(bot, pad, me, stage):
    """L-cancel: a trigger press just before an aerial attack lands."""
    falling = me.speed_y < 0.0 and me.y - stage.surface_y[0] < -6.0 * me.speed_y
    if a.NAIR <= me.action <= a.DAIR and falling:
        tap(bot, pad, BUTTON_Z)
