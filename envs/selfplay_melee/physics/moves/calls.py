"""When the special moves of this package are called: by the number in ``SPECIAL.own`` or ``HIT.own``, see ``layout``.

A move that the columns of ``SPECIAL`` describe has no file here.
"""

from __future__ import annotations

from selfplay.compilation.compile import rule
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.special_motion import special_row
from selfplay_melee.physics.moves import (
    chain,
    confusion,
    cutter,
    disable,
    fireball,
    hammer,
    headbutt,
    inhale,
    jolt,
    rollout,
    shadow_ball,
    sing,
    skull_bash,
    spinning_kong,
    stone,
    thunder,
    tornado,
    transform,
)
from selfplay_melee.tables.layout import (
    CHAIN,
    CONFUSION,
    CUTTER,
    DISABLE,
    FIREBALL,
    HAMMER,
    HEADBUTT,
    INHALE,
    JOLT,
    ROLLOUT,
    SHADOW_BALL,
    SING,
    SKULL_BASH,
    SPINNING_KONG,
    STONE,
    THUNDER,
    TORNADO,
    TRANSFORM,
)


@rule
def play_own(p, m, c, tables, own):
    """One frame of a special action with rules of its own, after what its row says and before its speeds are set."""
    if own == SHADOW_BALL:
        shadow_ball.play(p, m, tables)
    elif own == CHAIN:
        chain.play(p, m)
    elif own == TRANSFORM:
        transform.play(p, m, tables)
    elif own == ROLLOUT:
        rollout.play(p, m, c, tables)
    elif own == STONE:
        stone.play(p, m, tables)
    elif own == CUTTER:
        cutter.play(p, m)
    elif own == INHALE:
        inhale.play(p, m, tables)
    elif own == TORNADO:
        tornado.play(p, m)
    elif own == SKULL_BASH:
        skull_bash.play(p, m, tables)
    elif own == THUNDER:
        thunder.play(p, m, tables)


@rule
def own_speed(p, m, c, tables):
    """Change the speeds that the row of a special action has given on this frame, if it has rules of its own."""
    own = special_row(p, m, tables).own
    if own == CONFUSION:
        confusion.set_speed(p, m, c)
    elif own == ROLLOUT:
        rollout.set_speed(p, m, tables)
    elif own == SPINNING_KONG:
        spinning_kong.set_speed(p, m, c)
    elif own == HAMMER:
        hammer.set_speed(p, m, c)
    elif own == INHALE:
        inhale.set_speed(p, m, c)
    elif own == TORNADO:
        tornado.set_speed(p, m, c)
    elif own == SKULL_BASH:
        skull_bash.set_speed(p, m)


@rule
def own_rest(m, own):
    """Whether a hit of a move with rules of its own does not touch anybody on this frame."""
    return own == CHAIN and m.aim_y <= 0.0


@rule
def own_place(p, m, tables, row, before):
    """Where the circle of a hit is, or was on the frame ``before``, if the move moves it itself."""
    hit = tables.hits[row]
    frame = int(p.action_frame)
    x, y = m.before_x if before else p.x, m.before_y if before else p.y
    point = hit.first_point + max(frame - before - hit.start, 0)
    lean = m.aim_x if before else m.path_lean
    return chain.place(p, x, y, tables.points[point, 0], tables.points[point, 1], lean)


@rule
def own_hit(p, m, victim, memory, tables, row, damage):
    """Apply a hit, which was not blocked, in the move's own way; False if it hurts as other hits do.

    What a shot does so on top of its damage, and a grab in place of a hold.
    """
    own = tables.hits[row].own
    if own == CONFUSION:
        confusion.catch(p, m, victim, memory)
    elif own == DISABLE:
        disable.stun(p, victim, memory, damage)
    elif own == SING:
        sing.lull(p, victim, memory)
    elif own == INHALE:
        inhale.catch(p, m, victim, memory, tables)
    elif own == HEADBUTT:
        return headbutt.bury(p, m, victim, memory, damage)
    else:
        if own == ROLLOUT:
            rollout.hit(p, m)
        return False
    return True


@rule
def own_shot(m, number, own):
    """Whether a move fires the shot ``number`` of its action; other moves fire all."""
    if own == SHADOW_BALL:
        return shadow_ball.takes_charge(m, number)
    if own == THUNDER:
        return thunder.fires(m, number)
    return True


@rule
def own_flight(m, i, s, tables, own):
    """Change the speed of a shot before it flies on: gravity, a bounce."""
    if own == CUTTER:
        cutter.fly(m, i, s, tables)
    elif own == FIREBALL:
        fireball.fly(m, i, s)
    elif own == JOLT:
        jolt.fly(m, i, s)
    elif own == THUNDER:
        thunder.fly(m, i, s)


@rule
def passes_by(m, i, victim, own):
    """Whether a shot does not touch the victim wherever it flies."""
    if own == THUNDER:
        return thunder.is_harmless(m, i)
    return own == DISABLE and disable.overlooks(m, i, victim)


@rule
def own_mirror(m, i, victim, tables, own):
    """Whether a shot meets a mirror whose place the move knows itself."""
    return own == CONFUSION and confusion.meets(m, i, victim, tables)


@rule
def own_reflection(m, i, tables, own):
    """Send a shot back in the move's own way; False if it becomes one of the player who sends it back."""
    if own == CONFUSION:
        confusion.send_back(m, i, tables)
        return True
    return False


@rule
def decide_suffering(p, m, c, tables):
    """One frame of an action that a special move of the opponent has forced on the player, such as sleep."""
    if p.action == a.DAMAGE_BIND:
        disable.be_stunned(p, m)
    elif a.BURY <= p.action <= a.BURY_JUMP:
        headbutt.buried(p, m, tables)
    elif a.DAMAGE_SONG <= p.action <= a.DAMAGE_SONG_END:
        sing.sleep(p, m, tables)
    elif a.CAPTURE_KIRBY <= p.action <= a.THROWN_COPY_STAR:
        inhale.suffer(p, m)
