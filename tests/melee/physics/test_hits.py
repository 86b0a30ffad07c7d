import math

import pytest

from selfplay_melee import actions as a
from selfplay_melee.physics.hits import knockback as formulas
from tests.melee.arena import Arena, as_python, pad

knockback = as_python(formulas.knockback)
USMASH, FSMASH = pad(c_y=1.0), pad(c_x=1.0)


def close(gap=8.0, left="fox", right="mewtwo", percent=0.0):
    arena = Arena(left, right).place(0, 0.0).place(1, gap)
    arena.players.percent[1] = percent
    return arena


def hit(arena):
    """Play until seat 1 is hurt; frames from the input on, which was given already."""
    before = float(arena.players.percent[1])
    return arena.play_until(lambda arena: arena.players.percent[1] > before, 60)


@pytest.mark.parametrize(
    ("inputs", "action"),
    [
        (pad("A"), a.JAB_1),
        (pad("A", x=0.5), a.FTILT),
        (pad("A", x=-0.5), a.JAB_1),  # a tilt goes ahead only
        (pad("A", y=0.5), a.UTILT),
        (pad("A", y=-0.5), a.DTILT),
        (pad("A", x=1.0), a.FSMASH),
        (pad("A", y=1.0), a.USMASH),
        (pad("A", y=-1.0), a.DSMASH),
        (pad(c_x=-1.0), a.FSMASH),
        (pad(c_y=1.0), a.USMASH),
        (pad(c_y=-1.0), a.DSMASH),
        (pad("Z"), a.CATCH),
        (pad("A R"), a.CATCH),
    ],
)
def test_ground_attacks_by_input(inputs, action):
    arena = Arena().play(1, inputs)
    assert arena.actions[0] == action
    facing = 0.0 if action == a.JAB_1 else inputs["main_x"] + inputs["c_x"]
    assert arena.players.facing[0] == (math.copysign(1, facing) if facing else 1)


@pytest.mark.parametrize(
    ("inputs", "action"),
    [
        (pad("A"), a.NAIR),
        (pad("A", x=1.0), a.FAIR),
        (pad("A", x=-1.0), a.BAIR),
        (pad("A", y=1.0), a.UAIR),
        (pad(c_y=-1.0), a.DAIR),
        (pad(c_x=-1.0), a.BAIR),
    ],
)
def test_aerials_by_stick_and_c_stick(inputs, action):
    arena = Arena().place(0, 0.0, 80.0, grounded=False)
    assert arena.play(1, inputs).actions[0] == action
    assert arena.players.facing[0] == 1


def test_dash_attack_and_dash_grab():
    assert Arena().play(4, pad(x=1.0)).play(1, pad("A", x=1.0)).actions[0] == a.DASH_ATTACK
    assert Arena().play(3, pad(x=1.0)).play(1, pad("Z", x=1.0)).actions[0] == a.CATCH_DASH


def test_startup_active_and_end():
    """Fox's up smash: hits on its frames 7 to 17, ends after 41."""
    arena = close().play(1, USMASH)
    assert hit(arena) == 7 - 1
    far = close(gap=60.0).play(1, USMASH)
    assert far.play_until(lambda arena: arena.actions[0] == a.WAIT, 60) == 41


def test_late_hit_is_weaker():
    """Fox's neutral aerial: 12 on frames 4 to 7, 9 from then on."""
    for frames, damage in ((4, 12), (10, 9)):
        arena = close(gap=60.0).place(0, 0.0, 30.0, grounded=False).play(1, pad("A")).play(frames)
        arena.place(1, float(arena.players.x[0]) + 5.0, float(arena.players.y[0]) - 4.0, grounded=False)
        arena.play(1)
        assert arena.players.percent[1] == damage


def test_iasa_lets_act_before_the_end():
    """Mewtwo's down tilt lasts 29 frames, from frame 20 on another action may start."""
    arena = Arena().place(1, 70.0).play(1, pad("A", y=-0.5)).play(18)
    assert (arena.actions[0], arena.players.action_frame[0]) == (a.DTILT, 19)
    assert arena.play(1, pad("X")).actions[0] == a.JUMP_SQUAT


@pytest.mark.parametrize("percent", [0.0, 25.0, 50.0])
def test_a_hit_deals_damage_knockback_hitlag_and_hitstun(percent):
    """Fox's up smash on Mewtwo: 18 damage, 80 degrees, growth 112, base 30."""
    arena = close(percent=percent).play(1, USMASH)
    hit(arena)
    value = knockback(percent + 18, 18, 85, 112, 30, 0)
    assert arena.players.percent[1] == percent + 18
    assert arena.players.hitlag.tolist() == [9, 9]  # floor(18 / 3 + 3)
    assert arena.players.hitstun[1] == math.floor(0.4 * value)
    frames = [float(arena.players.action_frame[0]), *arena.players.x.tolist()]
    arena.play(8)
    assert [float(arena.players.action_frame[0]), *arena.players.x.tolist()] == frames  # frozen
    arena.play(1)
    speed = math.hypot(arena.players.speed_attack_x[1], arena.players.speed_attack_y[1])
    assert speed == pytest.approx(0.03 * value - 0.051)
    angle = math.atan2(arena.players.speed_attack_y[1], arena.players.speed_attack_x[1])
    assert math.degrees(angle) == pytest.approx(80)
    stun = arena.play_until(lambda arena: arena.players.hitstun[1] == 0, 200)
    assert stun == pytest.approx(math.floor(0.4 * value), abs=1)


def test_tumble_from_knockback_80_on():
    weak, strong = close(gap=5.0).play(1, pad("A")), close(percent=100.0).play(1, USMASH)
    hit(weak)
    hit(strong)
    assert a.DAMAGE_MID_1 <= weak.actions[1] <= a.DAMAGE_MID_3
    assert strong.actions[1] == a.DAMAGE_FLY_TOP


def test_hits_send_away_from_the_attacker_and_turn_the_victim():
    for gap in (8.0, -8.0):
        arena = close(gap=gap).play(1, pad(c_y=-1.0))  # Fox's down smash hits both sides
        hit(arena)
        arena.play(10)
        assert arena.players.speed_attack_x[1] * gap > 0
        assert arena.players.facing[1] * gap < 0


def test_directional_influence_bends_a_launch():
    def angle(stick):
        arena = close(percent=80.0).play(1, USMASH)
        hit(arena)
        arena.play(10, second=pad(x=stick))
        return math.degrees(math.atan2(arena.players.speed_attack_y[1], arena.players.speed_attack_x[1]))

    assert angle(0.0) == pytest.approx(80, abs=0.5)
    assert 60 < angle(1.0) < 66  # 18 degrees, less for the part of the stick along the launch
    assert 94 < angle(-1.0) < 100


def test_a_hit_connects_once_and_multi_hits_several_times():
    arena = close(gap=3.0, right="fox").play(1, pad(c_y=1.0)).play(40)
    assert arena.players.percent[1] == 18
    arena = Arena("fox", "mewtwo").place(0, 0.0, 14.0, grounded=False).place(1, 0.0)
    arena.play(1, pad("A", y=-1.0)).play(25)
    assert arena.players.percent[1] > 4  # the drill hits again and again


def test_trades_hit_both():
    arena = close(gap=9.0, right="fox").play(1, pad("A"), pad("A"))
    arena.play_until(lambda arena: arena.players.percent.min() > 0, 10)
    assert arena.players.percent.tolist() == [4, 4]


def test_charging_a_smash_makes_it_stronger():
    arena = close(gap=60.0).play(1, pad("A", y=1.0)).play(40, pad("A", y=1.0))
    assert arena.actions[0] == a.USMASH
    assert arena.players.action_frame[0] == 2  # the charge frame of Fox's up smash
    arena.place(1, 8.0)
    hit(arena)
    assert 18 < arena.players.percent[1] < 18 * 1.3671


def test_both_smashes_of_a_trade_launch_by_their_charge():
    """The launch of seat 1 ends its action, and must not take the charge from its own hit."""
    arena = Arena("fox", "fox").place(0, -30.0, facing=1.0).place(1, 30.0, facing=-1.0)
    both = pad("A", y=1.0)
    arena.play(1, both, both).play(40, both, both).place(0, -4.0).place(1, 4.0)
    arena.play_until(lambda arena: arena.players.percent.min() > 0, 30)
    assert arena.players.percent[0] == arena.players.percent[1]
    arena.play_until(lambda arena: arena.players.speed_attack_y.min() > 0.0, 30)
    assert arena.players.speed_attack_y[0] == arena.players.speed_attack_y[1]
    assert arena.players.speed_attack_x[0] == -arena.players.speed_attack_x[1]


def test_repeated_moves_get_stale():
    arena = close().play(1, USMASH)
    hit(arena)
    first = float(arena.players.percent[1])
    arena.play(60)
    arena.place(1, 8.0).surface(1, 0)
    arena.players.on_ground[1], arena.players.action[1] = 1, a.WAIT
    arena.players.percent[1], arena.players.hitstun[1] = 0.0, 0.0
    arena.players.speed_attack_x[1] = arena.players.speed_attack_y[1] = arena.players.speed_y[1] = 0.0
    arena.play(1, USMASH)
    hit(arena)
    assert arena.players.percent[1] == pytest.approx(first * 0.91)


def test_crouching_weakens_knockback():
    standing, crouching = close(percent=40.0), close(percent=40.0)
    crouching.play(9, second=pad(y=-1.0))
    for arena in (standing, crouching):
        arena.play(1, pad("A", y=-0.5), pad(y=-1.0) if arena is crouching else pad())
        arena.play_until(
            lambda arena: arena.players.percent[1] > 40, 30, second=pad(y=-1.0) if arena is crouching else pad()
        )
    assert crouching.memory.knockback[1] == pytest.approx(2 / 3 * standing.memory.knockback[1])


def test_strong_hits_kill_at_high_percent_but_not_at_low():
    for percent, dies in ((0.0, False), (150.0, True)):
        arena = close(percent=percent).play(1, USMASH).play(300)
        assert bool(arena.players.stocks[1] == 3) is dies


def test_intangible_players_are_not_hit():
    arena = close(right="fox")
    arena.play(3, pad(), pad("R")).play(1, pad(), pad("R", y=-1.0))
    assert arena.actions[1] == a.SPOT_DODGE
    arena.play(1).play(1, pad("A")).play(4)
    assert arena.players.percent[1] == 0
    assert arena.players.invulnerable[1]


def launched(percent=40.0):
    """Fox's up smash has thrown Mewtwo into the air."""
    arena = close(percent=percent).play(1, USMASH)
    hit(arena)
    return arena


def test_missed_tech_lies_down_and_gets_up():
    arena = launched()
    arena.play_until(lambda arena: arena.actions[1] == a.DAMAGE_FALL, 200)
    arena.play_until(lambda arena: arena.actions[1] in (a.DOWN_BOUND, a.DOWN_BOUND_UP), 300)
    arena.play_until(lambda arena: arena.actions[1] in (a.DOWN_WAIT, a.DOWN_WAIT_UP), 30)
    for inputs, action in (
        (pad(y=1.0), a.DOWN_STAND),
        (pad(x=-1.0), a.DOWN_ROLL_F),
        (pad(x=1.0), a.DOWN_ROLL_B),
        (pad("A"), a.DOWN_ATTACK),
    ):
        arena.players.action[1], arena.players.action_frame[1] = a.DOWN_WAIT, 0
        arena.place(0, -60.0).place(1, 0.0, facing=-1.0)
        assert arena.play(1, second=inputs).actions[1] == action
        arena.play_until(lambda arena: arena.actions[1] == a.WAIT, 60)
    arena.players.action[1], arena.players.action_frame[1] = a.DOWN_WAIT, 0
    assert arena.play_until(lambda arena: arena.actions[1] == a.DOWN_STAND, 260) > 150


@pytest.mark.parametrize(("stick", "action"), [(0.0, a.TECH), (-1.0, a.TECH_F), (1.0, a.TECH_B)])
def test_techs(stick, action):
    arena = launched()
    arena.play_until(lambda arena: arena.actions[1] == a.DAMAGE_FALL, 200)
    arena.players.facing[1] = -1.0
    arena.place(0, -60.0)
    arena.play_until(lambda arena: arena.players.y[1] < 12.0, 300)
    arena.play(1, second=pad("L"))
    if arena.actions[1] == a.AIR_DODGE:
        pytest.fail("a tumble must not air dodge by a tech press")
    arena.play_until(lambda arena: arena.actions[1] == action, 20, second=pad(x=stick * 0.6))
    assert arena.players.invulnerable[1]
    arena.play_until(lambda arena: arena.actions[1] == a.WAIT, 60)


def test_wiggling_out_of_a_tumble():
    arena = launched()
    arena.play_until(lambda arena: arena.actions[1] == a.DAMAGE_FALL, 200)
    assert arena.play(1, second=pad(x=1.0)).actions[1] == a.FALL


def after_hitstun(percent):
    """Fox's jab has made Mewtwo flinch on the ground, and hitstun is over."""
    arena = close(percent=percent).play(1, pad("A"))
    hit(arena)
    arena.play_until(lambda arena: arena.players.hitstun[1] == 0 and arena.players.hitlag[1] == 0, 60)
    return arena


def test_after_hitstun_a_player_may_act_before_the_animation_is_over():
    arena = after_hitstun(0.0)
    assert a.DAMAGE_HIGH_1 <= arena.actions[1] <= a.DAMAGE_AIR_3
    assert arena.play(1, second=pad("R")).actions[1] in (a.GUARD_ON, a.GUARD_REFLECT, a.AIR_DODGE)
    arena = after_hitstun(0.0)
    arena.play_until(lambda arena: arena.actions[1] == a.WAIT, 40)


def test_who_comes_down_in_light_hitstun_lands():
    arena = close(percent=0.0).play(1, pad("A"))
    hit(arena)
    arena.place(1, 10.0, 3.0, grounded=False)
    player = arena.players[1]
    player.action, player.action_frame, player.hitstun, player.hitlag = a.DAMAGE_AIR_2, 5.0, 12.0, 0.0
    player.speed_y, player.speed_attack_x, player.speed_attack_y = -2.0, 0.8, 0.0
    arena.memory.launch[1] = 0
    arena.play_until(lambda arena: arena.actions[1] == a.LANDING, 10)
    assert arena.players.hitstun[1] == 0


@pytest.mark.parametrize(
    ("action", "frame", "down"),
    [
        (a.DAMAGE_FLY_TOP, 10.0, a.DOWN_BOUND_UP),
        (a.DAMAGE_FLY_TOP, 50.0, a.DOWN_BOUND),
        (a.DAMAGE_FLY_MID, 5.0, a.DOWN_BOUND_UP),
        (a.DAMAGE_FLY_MID, 29.0, a.DOWN_BOUND),
    ],
)
def test_the_side_that_a_player_falls_on_depends_on_the_flight(action, frame, down):
    arena = Arena().place(0, -60.0).place(1, 0.0, 9.0, grounded=False)
    arena.players.action[1], arena.players.action_frame[1] = action, frame
    arena.players.hitstun[1], arena.players.speed_y[1] = 30.0, -2.5
    arena.play_until(lambda arena: arena.players.on_ground[1], 20)
    assert arena.actions[1] == down
    arena.play_until(lambda arena: arena.actions[1] == down + 1, 40)  # lies there
    side = down - a.DOWN_BOUND
    assert arena.play(1, second=pad(y=1.0)).actions[1] == a.DOWN_STAND + side


def test_the_animation_of_a_flight_waits_for_the_end_of_hitstun():
    arena = launched(60.0)
    arena.play_until(lambda arena: arena.players.action_frame[1] >= 29, 120)
    if arena.players.hitstun[1] > 3:
        frame = float(arena.players.action_frame[1])
        assert frame <= 59
    arena.play_until(lambda arena: arena.actions[1] == a.DAMAGE_FALL, 200)
    assert arena.players.hitstun[1] == 0


def test_only_a_new_flick_shifts_in_hitlag():
    """Held from before the hit the stick shifts nobody (SDI)."""
    shifted = []
    for before, after in ((1.0, 1.0), (0.0, 1.0), (-1.0, 1.0)):
        arena = close(percent=60.0).play(1, USMASH, pad(x=0.2))
        hit(arena)
        start = float(arena.players.x[1])
        arena.play(2, second=pad(x=before))
        middle = float(arena.players.x[1])
        arena.play(1, second=pad(x=after))
        shifted.append(float(arena.players.x[1]) - middle)
        assert abs(start - middle) in (0.0, pytest.approx(6.0))
    assert shifted == pytest.approx([0.0, 6.0, 6.0])


def test_a_shift_down_holds_a_weak_launch_on_the_floor():
    arena = Arena().place(0, -60.0).place(1, 0.0)
    player, memory = arena.players[1], arena.memory[1]
    player.on_ground, memory.surface = 0, -1
    player.action, player.action_frame, player.hitstun, player.hitlag = a.DAMAGE_MID_3, 1.0, 20.0, 2.0
    player.speed_attack_x, player.speed_attack_y, memory.launch, memory.hull_lock = 1.5, 0.7, 1, 11
    arena.play(2, second=pad(y=-1.0))
    assert arena.actions[1] == a.LANDING
