"""Lengths of the animations of being hurt."""

import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena


def lasts(character, action, stun=1.0):
    """The last frame of an animation that shows and how often it does, for a player high in the air."""
    arena = Arena("mewtwo", character).place(0, -60.0).place(1, 0.0, 150.0, grounded=False)
    player = arena.players[1]
    player.action, player.action_frame, player.hitstun, player.speed_y = action, 0.0, stun, 3.0
    last = times = 0
    while arena.actions[1] == action:
        frame = float(arena.players.action_frame[1])
        last, times = frame, times + 1 if frame == last else 1
        arena.play(1)
    assert arena.actions[1] == (a.DAMAGE_FALL if action >= a.DAMAGE_FLY_HIGH else a.FALL)
    return last, times


@pytest.mark.parametrize(
    ("character", "action", "frames"),
    [
        ("fox", a.DAMAGE_AIR_1, 11),
        ("fox", a.DAMAGE_AIR_2, 23),
        ("fox", a.DAMAGE_AIR_3, 29),
        ("fox", a.DAMAGE_FLY_LOW, 28),
        ("fox", a.DAMAGE_FLY_TOP, 59),
        ("jigglypuff", a.DAMAGE_FLY_LOW, 59),
        ("jigglypuff", a.DAMAGE_FLY_TOP, 79),
        ("gameandwatch", a.DAMAGE_FLY_LOW, 29),
    ],
)
def test_an_animation_of_being_hurt_has_the_length_of_its_character(character, action, frames):
    assert lasts(character, action) == (frames, 1)


def test_the_end_of_the_animation_shows_until_the_end_of_hitstun():
    assert lasts("fox", a.DAMAGE_AIR_3, 35.0) == (30, 5)
    assert lasts("fox", a.DAMAGE_FLY_MID, 40.0) == (29, 11)
