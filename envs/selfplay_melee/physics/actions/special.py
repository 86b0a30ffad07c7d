"""Special moves, driven by table rows: a move is a chain of actions, and the row of each says which one follows.

The animation goes on first; then the inputs are asked, of the action that has just begun too. How a move moves the
player is in ``special_motion``.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.controller import BUTTON_A, BUTTON_B
from selfplay_melee.physics.actions.special_motion import aim, continue_as, is_special, note_lean, special_row
from selfplay_melee.physics.angles import cosine, norm
from selfplay_melee.physics.change import enter, leave_ground, lock_hull, rest, start_fall, start_fall_special
from selfplay_melee.physics.inputs import DROP_STICK, TILT, jump_pressed
from selfplay_melee.physics.motion import clamp, sign
from selfplay_melee.physics.moves.calls import play_own
from selfplay_melee.physics.stages.stage import on_platform
from selfplay_melee.tables.layout import CHARGING, FLIGHT, FREE_FALL, HELD, HELPLESS, PRESSED

# Thresholds and times are the game's common constants, as melee-sim-light lists them.
UP_STICK = 0.55  # from here on a B press is the up or down special
SIDE_STICK = 0.6
REVERSE_AGE = 20  # frames after the stick pointed back for which a neutral special in the air turns around
PASS_AGE = 6  # frames within which a flick down passes a platform
MOST_STORED = 6  # shots
NOTHING = 0


@rule
def start_special(p, m, c):
    """Start the special move that B and the stick ask for; False if there is none.

    On the ground a stick that is out sideways asks for the side special; in the air up and down come first.
    """
    if m.pressed & BUTTON_B == 0:
        return False
    if abs(m.stick_x) >= SIDE_STICK and (p.on_ground or abs(m.stick_y) < UP_STICK):
        action = c.side_ground if p.on_ground else c.side_air
        if action > 0.0:
            p.facing = sign(m.stick_x)
    elif m.stick_y >= UP_STICK:
        action = c.up_ground if p.on_ground else c.up_air
    elif m.stick_y <= -UP_STICK:
        action = c.down_ground if p.on_ground else c.down_air
    else:
        action = c.neutral_ground if p.on_ground else c.neutral_air
        if action > 0.0 and not p.on_ground and m.side_age < REVERSE_AGE and m.side * p.facing < 0.0:
            p.facing = -p.facing
    return _start(p, m, action)


@rule
def start_up_special(p, m, c):
    """The same if only the up special is possible."""
    if m.pressed & BUTTON_B == 0 or m.stick_y < UP_STICK:
        return False
    return _start(p, m, c.up_ground if p.on_ground else c.up_air)


@rule
def _start(p, m, action):
    if action == 0.0:
        return False
    enter(p, m, int(action))
    begin_move(m)
    return True


@rule
def begin_move(m):
    """Forget what the special move before left; one shot is always there."""
    m.special_frames = 0
    m.b_let_go = 0
    m.stored = max(m.stored, 1)
    m.path_lean = 0.0
    m.flown_again = 0


@rule
def store_shot(m):
    """Store one shot more."""
    m.stored = min(m.stored + 1, MOST_STORED)


@rule
def go_on(p, m, c, tables):
    """One frame of a special move: continue, repeat, or start the action that follows; then the inputs are asked."""
    row = special_row(p, m, tables)
    if row.aim_frame > 0 and p.action_frame == row.aim_frame:
        aim(p, m, row)
    follow_move(m, row)
    note_lean(p, m, row)
    if p.on_ground and row.path_from > 0 and p.action_frame >= row.path_from:
        leave_ground(p, m)
    if _let_go(m, row):
        _follow(p, m, tables, row)
    elif row.again_frame > 0 and p.action_frame == row.again_frame and _flies_again(m, row):
        _fly_again(p, m, tables, row)
    elif _is_over(p, m, row, tables):
        if row.repeats == HELD or (row.repeats == PRESSED and m.jab_again):
            continue_as(p, m, tables, p.action)
            if row.stores:
                store_shot(m)
        elif row.repeats == CHARGING:
            continue_as(p, m, tables, row.cancels_as if m.jab_again else p.action)
        else:
            _follow(p, m, tables, row)
    if p.action >= a.FIRST_SPECIAL:
        row = special_row(p, m, tables)
        _answer(p, m, tables, row)
        if row.own > 0:
            play_own(p, m, c, tables, row.own)


@rule
def _flies_again(m, row):
    """Whether the stick points far enough away from the direction of the first flight."""
    x, y = m.stick_x_before, m.stick_y_before
    length = norm(x, y)
    if m.flown_again or length < row.again_stick:
        return False
    return x * m.aim_x + y * m.aim_y < length * cosine(row.again_turn)


@rule
def _fly_again(p, m, tables, row):
    """Start the second flight, as the first began, but slower."""
    _follow(p, m, tables, tables.specials[m.character_row, row.again_as - a.FIRST_SPECIAL])
    m.flown_again = 1
    p.speed_air_x *= row.again_speed
    p.speed_y *= row.again_speed
    p.speed_ground_x *= row.again_speed


@rule
def follow_move(m, row):
    """Note on each frame of a move how long it has lasted and whether B was let go."""
    if row.least > 0:
        m.special_frames += 1
    if m.held & BUTTON_B == 0:
        m.b_let_go = 1


@rule
def note_press(p, m, row):
    """Note a press that makes the action repeat, or that comes too early for a combo."""
    if (row.repeats == PRESSED and m.pressed & BUTTON_B and p.action_frame >= row.press_from) or (
        row.combo_side > 0 and m.pressed & (BUTTON_A | BUTTON_B) and p.action_frame < row.press_from
    ):
        m.jab_again = 1


@rule
def _let_go(m, row):
    return row.repeats == HELD and row.least > 0 and m.b_let_go and m.special_frames >= row.least


@rule
def _follow(p, m, tables, row):
    """Start what follows an action."""
    following = row.next_ground if p.on_ground and not _takes_off(p, m, tables, row) else row.next_air
    if following == HELPLESS:
        start_fall_special(p, m, row.landing_lag, row.fall_drift, row.lands_hard)
    elif following == NOTHING:
        rest(p, m)
    else:
        continue_as(p, m, tables, following)
        after = special_row(p, m, tables)
        if row.least > 0 and _let_go(m, after):  # the time ran out meanwhile
            _follow_on(p, m, tables, after)


@rule
def _takes_off(p, m, tables, row):
    """Whether a flight along the ground is not asked for: the stick is at rest, up, or down on a platform."""
    if row.next_ground == NOTHING:
        return False
    if tables.specials[m.character_row, row.next_ground - a.FIRST_SPECIAL].drive != FLIGHT:
        return False
    x, y = m.stick_x_before, m.stick_y_before
    return y > 0.0 or (x == 0.0 and y == 0.0) or (on_platform(m) and y <= DROP_STICK)


@rule
def _follow_on(p, m, tables, row):
    continue_as(p, m, tables, row.next_ground if p.on_ground else row.next_air)


@rule
def _answer(p, m, tables, row):
    """What the inputs change: a shot more, the next part of a combo, an early end, a turn."""
    note_press(p, m, row)
    if (row.cut and m.pressed & BUTTON_B) or (row.repeats == HELD and row.least == 0 and not m.held & BUTTON_B):
        _follow(p, m, tables, row)
    elif row.cancels_as > 0 and m.trigger > 0.0 and m.trigger_before == 0.0:
        if row.repeats == CHARGING:
            m.jab_again = 1  # at the end of this repetition
        else:
            continue_as(p, m, tables, row.cancels_as)
    elif row.turns_as > 0 and m.stick_x * p.facing <= -TILT:
        continue_as(p, m, tables, row.turns_as)
        p.facing = -p.facing
    elif row.combo_side > 0 and _combo_pressed(p, m, row):
        continue_as(p, m, tables, _combo(m, row))


@rule
def _combo_pressed(p, m, row):
    """Whether A or B asks for the next part in time, and not after a press that came too early."""
    in_time = row.press_from <= p.action_frame and (row.press_to == 0 or p.action_frame <= row.press_to)
    return in_time and not m.jab_again and m.pressed & (BUTTON_A | BUTTON_B) != 0


@rule
def _combo(m, row):
    if row.combo_up > 0 and m.stick_y > UP_STICK:
        return row.combo_up
    return row.combo_down if row.combo_down > 0 and m.stick_y < -UP_STICK else row.combo_side


@rule
def follow_touch(p, m, tables):
    """Start the action that follows as this one meets the opponent; False if its hits are ordinary ones."""
    if p.action < a.FIRST_SPECIAL:
        return False
    action = special_row(p, m, tables).touch_as
    if action == NOTHING:
        return False
    continue_as(p, m, tables, action)
    return True


@rule
def show_reflection(p, m, tables, side):
    """A laser was sent back to ``side``: the player turns there and shows it."""
    row = special_row(p, m, tables)
    if row.reflects >= a.FIRST_SPECIAL:
        enter(p, m, row.reflects)
        p.action_frame = 0.0
        p.facing = side


@rule
def passes_platform(p, m, tables):
    """Whether a flick down drops through the platform, and the move goes on in the air."""
    if p.action < a.FIRST_SPECIAL:
        return False
    row = special_row(p, m, tables)
    return row.passes_as > 0 and on_platform(m) and m.stick_y <= DROP_STICK and m.y_age < PASS_AGE


@rule
def _is_over(p, m, row, tables):
    if row.frozen > 0:
        m.duration -= 1.0
        return m.duration < 0.0
    return p.action_frame > tables.actions[m.character_row, p.action].frames


@rule
def jump_cancels(p, m, tables):
    """Whether a jump that is possible is asked for and ends this action."""
    if p.action < a.FIRST_SPECIAL or (not p.on_ground and p.jumps_left <= 0):
        return False
    row = special_row(p, m, tables)
    return row.jump_from != 0 and p.action_frame >= row.jump_from and jump_pressed(m)


@rule
def leaves_edge(p, m, tables):
    """Whether the move does not stop at an edge."""
    row = special_row(p, m, tables)
    return row.leaves_as != NOTHING and p.action_frame >= row.leaves_from


@rule
def leave_edge(p, m, tables):
    """Go on in the air."""
    row = special_row(p, m, tables)
    action, frame = row.leaves_as, p.action_frame
    leave_ground(p, m)
    if row.spends_jumps:
        p.jumps_left = 0
    if row.top_x > 0.0:
        p.speed_air_x = clamp(p.speed_air_x, row.top_x)
    if action == HELPLESS:
        start_fall_special(p, m, row.landing_lag, row.fall_drift, row.lands_hard)
    elif action == FREE_FALL:
        start_fall(p, m)
    else:
        p.action, p.action_frame = action, frame


@rule
def slides_on(p, m, c, tables):
    """A flight that meets a floor goes on along it."""
    if not is_special(p, c) or not special_row(p, m, tables).slides:
        return False
    lock_hull(m)
    return True


@rule
def takes_ledge(p, m, tables):
    """Whether this part of the move can grab a ledge."""
    row = special_row(p, m, tables)
    return row.grabs_from > 0 and (p.action_frame >= row.grabs_from or row.grabs_from == 1)


@rule
def ledge_reach(p, m, c, tables):
    """How far beyond its edge a ledge is taken, units."""
    if is_special(p, c) and special_row(p, m, tables).reach > 0.0:
        return special_row(p, m, tables).reach
    return c.ledge_reach_x
