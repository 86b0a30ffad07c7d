import numpy as np
import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad


@pytest.mark.parametrize(
    ("x", "y", "action"),
    [(0.0, -150.0, a.DEAD_DOWN), (-250.0, 0.0, a.DEAD_LEFT), (250.0, 0.0, a.DEAD_RIGHT)],
)
def test_blast_zones_take_a_stock(x, y, action):
    arena = Arena().place(0, x, y, grounded=False)
    arena.players.percent[0] = 88.0
    arena.play(1)
    assert arena.actions[0] == action
    assert arena.players.stocks.tolist() == [3, 4]
    assert arena.players.percent[0] == 88.0  # until it comes back, as in the game
    assert arena.players.invulnerable[0]
    arena.play_until(lambda arena: arena.actions[0] == a.REBIRTH, 100)
    assert arena.players.percent[0] == 0.0


def test_only_a_launch_dies_over_the_top_and_loses_the_stock_later():
    arena = Arena().place(0, 0.0, 200.0, grounded=False)
    assert arena.play(5).actions[0] != a.DEAD_UP_STAR
    arena = Arena().place(0, 0.0, 200.0, grounded=False)
    arena.players.speed_attack_y[0] = 3.0
    assert arena.play(1).actions[0] == a.DEAD_UP_STAR
    assert arena.players.stocks.tolist() == [4, 4]
    assert arena.play_until(lambda arena: arena.players.stocks[0] == 3, 200) == pytest.approx(131, abs=1)
    assert arena.play_until(lambda arena: arena.actions[0] == a.REBIRTH, 200) == pytest.approx(45, abs=1)


def killed(arena, seat=0):
    arena.place(seat, 0.0, -150.0, grounded=False)
    return arena.play(1)


def test_a_fall_without_a_hit_is_a_self_destruct():
    arena = killed(Arena())
    assert arena.memory.self_destructs.tolist() == [1, 0]


def test_a_death_after_a_hit_is_credited_to_the_other_player():
    arena = Arena("fox", "mewtwo").place(0, 0.0).place(1, 8.0)
    arena.players.percent[1] = 150.0
    arena.play(1, pad(c_y=1.0))
    arena.play_until(lambda arena: arena.players.stocks[1] == 3, 400)
    assert arena.memory.self_destructs.tolist() == [0, 0]
    assert arena.memory.damage_dealt[0] == 18
    assert arena.actions[1] == a.DEAD_UP_STAR


def test_respawn_comes_down_waits_and_is_invulnerable():
    arena = killed(Arena())
    assert arena.play_until(lambda arena: arena.actions[0] == a.REBIRTH, 100) == 60
    assert arena.play_until(lambda arena: arena.actions[0] == a.REBIRTH_WAIT, 100) == 60
    x, y = float(arena.players.x[0]), float(arena.players.y[0])
    arena.play(50)
    assert (arena.players.x[0], arena.players.y[0]) == (x, y)
    assert arena.play(1, pad(x=0.5)).actions[0] == a.FALL
    frames = 1 + arena.play_until(lambda arena: not arena.players.invulnerable[0], 200)
    assert frames == pytest.approx(120, abs=1)


def test_invulnerable_after_respawn_means_no_damage():
    arena = killed(Arena("fox", "mewtwo"), seat=1)
    arena.play_until(lambda arena: arena.actions[1] == a.REBIRTH_WAIT, 200)
    arena.play(1, second=pad("X"))
    arena.place(1, 8.0).place(0, 0.0)
    arena.players.on_ground[1], arena.players.action[1] = 1, a.WAIT
    arena.memory.surface[1] = 0
    arena.play(1, pad(c_y=1.0)).play(30)
    assert arena.players.percent[1] == 0


def test_nobody_waits_on_the_platform_forever():
    arena = killed(Arena())
    arena.play_until(lambda arena: arena.actions[0] == a.REBIRTH_WAIT, 200)
    assert arena.play_until(lambda arena: arena.actions[0] == a.FALL, 400) >= 240


def test_respawn_platforms_are_mirrored():
    arena = Arena()
    killed(arena, 0)
    killed(arena, 1)
    arena.play_until(lambda arena: arena.actions == [a.REBIRTH_WAIT, a.REBIRTH_WAIT], 300)
    assert arena.players.x[0] == -arena.players.x[1] < 0
    assert arena.players.facing.tolist() == [1, -1]


def test_the_fourth_death_ends_the_game():
    arena = Arena()
    for stocks in (3, 2, 1):
        killed(arena)
        assert arena.over == 0
        assert arena.players.stocks[0] == stocks
        arena.play_until(lambda arena: arena.actions[0] == a.REBIRTH_WAIT, 200)
        arena.play(2, pad("X"))
    killed(arena)
    assert arena.over == 1
    assert arena.players.stocks[0] == 0


def test_the_timer_ends_the_game():
    arena = Arena()
    arena.game.frame = 28798
    assert arena.play(1).over == 0
    assert arena.play(1).over == 1
    assert arena.players.stocks.tolist() == [4, 4]


def test_a_new_game_forgets_the_old_one():
    arena = Arena("fox", "mewtwo").place(0, 0.0).place(1, 8.0)
    arena.play(1, pad(c_y=1.0)).play(40, pad("R"), pad("X", y=-1.0))
    killed(arena)
    arena.restart()
    fresh = Arena("fox", "mewtwo")
    for array, new in ((arena.players, fresh.players), (arena.memory, fresh.memory), (arena.game, fresh.game)):
        for name in array.dtype.names:
            assert np.array_equal(array[name], new[name]), name
