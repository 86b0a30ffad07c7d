"""What counts as a use of a move for staleness."""

import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad

USMASH = pad(c_y=1.0)


def fresh_again(arena, gap=8.0):
    """Both stand again, the victim unhurt."""
    arena.play(70)
    for seat, x in ((0, 0.0), (1, gap)):
        arena.place(seat, x).surface(seat, 0)
        player = arena.players[seat]
        player.on_ground, player.action, player.action_frame = 1, a.WAIT, 0
        player.percent, player.hitstun, player.hitlag, player.facing = 0.0, 0.0, 0.0, 1.0
        player.speed_attack_x = player.speed_attack_y = player.speed_y = 0.0
    return arena


def damage(arena, inputs, second=None):
    arena.play(1, inputs, second or pad())
    arena.play_until(lambda arena: arena.players.percent[1] > 0, 60, second=second or pad())
    return float(arena.players.percent[1])


def start():
    return Arena("fox", "mewtwo").place(0, 0.0).place(1, 8.0)


def test_forward_tilts_are_one_move_for_staleness_and_another_move_is_fresh():
    arena = start()
    first = damage(arena, pad("A", x=0.5))
    assert damage(fresh_again(arena), pad("A", x=0.5)) == pytest.approx(first * 0.91)
    assert damage(fresh_again(arena), USMASH) == 18


def test_a_shielded_hit_does_not_get_stale():
    arena = start().play(20, second=pad("R"))
    arena.play(1, USMASH, pad("R")).play(20, second=pad("R"))
    assert arena.players.percent[1] == 0
    assert damage(fresh_again(arena), USMASH) == 18
