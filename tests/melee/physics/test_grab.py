import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad


def grabbed(left="mewtwo", right="fox", percent=0.0, second=None):
    arena = Arena(left, right).place(0, 0.0).place(1, 9.0)
    arena.players.percent[1] = percent
    arena.play(1, pad("Z"), second or pad())
    arena.play_until(lambda arena: arena.actions[0] == a.CATCH_WAIT, 20, second=second or pad())
    return arena


def test_a_grab_holds_the_other_player():
    arena = grabbed()
    assert arena.actions == [a.CATCH_WAIT, a.CAPTURE_WAIT]
    assert arena.players.x[1] == pytest.approx(arena.players.x[0] + 11.98)
    assert arena.players.percent[1] == 0


def test_a_grab_beats_a_shield():
    assert grabbed(second=pad("R")).actions == [a.CATCH_WAIT, a.CAPTURE_WAIT]


def test_a_grab_misses_the_air_and_an_attack_beats_it():
    arena = Arena("mewtwo", "fox").place(0, 0.0).place(1, 9.0, 3.0, grounded=False)
    arena.players.speed_y[1] = 3.0
    arena.play(1, pad("Z")).play(20)
    assert arena.players.percent[1] == 0
    assert a.CATCH_WAIT not in arena.actions
    arena = Arena("mewtwo", "fox").place(0, 0.0).place(1, 9.0)
    arena.play(1, pad("Z")).play(4).play(1, second=pad("A"))
    arena.play(4)
    assert arena.players.percent[0] == 4  # Fox's jab hits on its second frame


def test_grabs_at_the_same_time_cancel_out():
    arena = Arena("fox", "fox").place(0, 0.0).place(1, 9.0)
    arena.play(1, pad("Z"), pad("Z")).play(10)
    assert arena.actions == [a.CATCH, a.CATCH]


def test_pummel():
    arena = grabbed().play(1, pad("A"))
    assert arena.actions[0] == a.CATCH_ATTACK
    arena.play_until(lambda arena: arena.actions[0] == a.CATCH_WAIT, 40)
    assert arena.players.percent[1] == 3
    assert arena.actions[1] == a.CAPTURE_DAMAGE
    arena.play_until(lambda arena: arena.actions[1] == a.CAPTURE_WAIT, 20)


def test_a_pummel_freezes_both():
    arena = grabbed().play(1, pad("A"))
    arena.play_until(lambda arena: arena.players.percent[1] > 0, 40)
    assert arena.players.hitlag.tolist() == [4, 6]  # it is electric: half as long again for the victim


@pytest.mark.parametrize(
    ("x", "y", "action", "damage", "side"),
    [
        (1.0, 0.0, a.THROW_F, 5, 1),
        (-1.0, 0.0, a.THROW_B, 11, -1),
        (0.0, 1.0, a.THROW_U, 12, 0),
        (0.0, -1.0, a.THROW_D, 5, 1),
    ],
)
def test_throws_by_stick(x, y, action, damage, side):
    arena = grabbed(percent=50.0).play(1, pad(x=x, y=y))
    assert arena.actions == [action, action + a.THROWN_F - a.THROW_F]
    arena.play_until(lambda arena: arena.players.percent[1] > 50, 80)
    assert arena.players.percent[1] == 50 + damage  # of the first hit: the down throw has two
    arena.play_until(lambda arena: arena.players.speed_attack_y[1] > 0, 40)
    assert round(float(arena.players.speed_attack_x[1]) * 10) * side >= 0
    arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 80)


def test_mashing_breaks_free_and_percent_holds_longer():
    def frames(percent, mash):
        arena = grabbed(percent=percent)
        count = 0
        while arena.actions[0] == a.CATCH_WAIT:
            arena.play(1, second=pad("A" if mash and count % 2 else ""))
            count += 1
        assert arena.actions == [a.CATCH_CUT, a.CAPTURE_CUT]
        assert arena.players.speed_ground_x[0] < 0
        return count

    idle = frames(0.0, mash=False)
    assert 70 <= idle <= 80
    assert frames(100.0, mash=False) == pytest.approx(idle + 160, abs=2)
    assert frames(0.0, mash=True) < idle / 2


def test_after_a_break_both_can_act_again():
    arena = grabbed()
    arena.play_until(lambda arena: arena.actions[0] == a.CATCH_CUT, 120)
    arena.play_until(lambda arena: arena.actions == [a.WAIT, a.WAIT], 120)


def thrown(stick=0.0, left="marth", right="falco"):
    """An up throw on the frame that lets go; the victim holds its stick sideways until the frame before."""
    arena = grabbed(left, right)
    arena.play(1, pad(y=1.0), pad(x=stick))
    arena.play_until(lambda arena: not a.THROWN_F <= arena.actions[1] <= a.THROWN_D, 60, second=pad(x=stick))
    return arena


def test_a_throw_lets_go_at_its_place_and_the_victim_moves_at_once():
    arena = thrown()
    x, y = arena.players.x[1] - arena.players.x[0], arena.players.y[1]
    assert x - arena.players.speed_attack_x[1] == pytest.approx(5.5)
    assert y - arena.players.speed_attack_y[1] - arena.players.speed_y[1] == pytest.approx(17.14)
    assert arena.players.hitlag[1] == 0
    assert arena.actions[1] == a.DAMAGE_FLY_TOP


def test_the_stick_of_the_frame_before_turns_a_throw():
    straight, turned = thrown(), thrown(1.0)
    assert turned.players.speed_attack_x[1] > straight.players.speed_attack_x[1] + 0.5


def test_a_throw_takes_everybody_for_equally_heavy():
    heavy, light = thrown(right="ganondorf"), thrown(right="jigglypuff")
    assert heavy.players.speed_attack_y[1] == light.players.speed_attack_y[1]


def test_the_lasers_of_foxs_up_throw_hurt_whom_he_threw():
    arena = thrown(left="fox", right="marth")
    before = float(arena.players.percent[1])
    arena.play(25)
    assert arena.players.percent[1] == pytest.approx(before + 2 * 1.82)  # two of three, stale by the throw itself


def test_a_throw_is_not_stale_by_its_own_first_hit():
    arena = grabbed(left="sheik").play(1, pad(y=-1.0))
    arena.play_until(lambda arena: arena.players.speed_attack_y[1] > 0, 80)
    assert arena.players.percent[1] == 5 + 3


@pytest.mark.parametrize(
    ("x", "y", "action", "facing"),
    [(1.0, 0.0, a.DAMAGE_AIR_3, -1.0), (-1.0, 0.0, a.DAMAGE_FLY_MID, 1.0), (0.0, -1.0, a.DAMAGE_FLY_TOP, 1.0)],
)
def test_a_down_throw_sends_upright_and_a_throw_behind_turns_the_victim(x, y, action, facing):
    arena = grabbed("marth", "falco").play(1, pad(x=x, y=y))
    arena.play_until(lambda arena: arena.actions[1] < a.THROWN_F, 60)
    assert (arena.actions[1], arena.players.facing[1]) == (action, facing)


def test_a_standing_player_is_not_moved_before_the_hold_begins():
    arena = Arena("mewtwo", "fox").place(0, 0.0).place(1, 9.0).play(1, pad("Z"))
    arena.play_until(lambda arena: arena.actions[0] == a.CATCH_PULL, 20)
    pulled = 0
    while arena.actions[0] == a.CATCH_PULL:
        assert arena.players.x[1] == 9.0
        pulled += 1
        arena.play(1)
    assert pulled == 2  # the catch lasts for two frames
    assert arena.players.x[1] > 9.0


@pytest.mark.parametrize(
    ("left", "right", "steps"),
    [
        ("cptfalcon", "fox", 16),  # of 4/3 frames: 15 add up to 20, but counting down from 20 leaves 2e-7
        ("cptfalcon", "sheik", 19),
        ("cptfalcon", "marth", 18),
        ("cptfalcon", "ganondorf", 22),
        ("ylink", "falco", 23),
        ("gameandwatch", "mewtwo", 47),
    ],
)
def test_a_down_throw_that_goes_by_weight_lets_go_as_replays_show(left, right, steps):
    arena = grabbed(left, right).play(1, pad(y=-1.0))
    assert arena.actions == [a.THROW_D, a.THROWN_D]
    shown = set()
    while arena.actions[1] == a.THROWN_D:
        shown.add(float(arena.players.action_frame[0]))
        arena.play(1)
    shown.add(float(arena.players.action_frame[0]))
    assert len(shown) == steps  # hitlag repeats some
