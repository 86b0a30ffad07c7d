import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad


def highest(arena, frames_held, seat=0):
    """Top of a jump with the button held for some frames."""
    top = 0.0
    for frame in range(90):
        inputs = [pad(), pad()]
        inputs[seat] = pad("X" if frame < frames_held else "")
        arena.play(1, *inputs)
        top = max(top, float(arena.players.y[seat]))
    assert arena.players.on_ground[seat]
    return top


def jump_height(speed, gravity):
    """Sum of speed, speed - gravity, ... while positive."""
    total = 0.0
    while speed > 0:
        total += speed
        speed -= gravity
    return total


@pytest.mark.parametrize(
    ("seat", "squat", "full", "short", "gravity"), [(0, 5, 2.3, 1.4, 0.082), (1, 3, 3.68, 2.1, 0.23)]
)
def test_full_and_short_hops(seat, squat, full, short, gravity):
    """Launch speeds, jump squats and gravity of Mewtwo and Fox, as measured from replays."""
    assert highest(Arena(), 40, seat) == pytest.approx(jump_height(full, gravity))
    assert highest(Arena(), squat - 1, seat) == pytest.approx(jump_height(short, gravity))
    arena = Arena()
    frames = arena.play_until(lambda arena: not arena.players.on_ground[seat], 9, *([pad("X")] * 2))
    assert frames == squat + 1  # the press itself is frame 0 of the squat


def test_the_stick_jumps_too():
    arena = Arena().play(1, pad(y=1.0))
    assert arena.actions[0] == a.JUMP_SQUAT
    arena.play_until(lambda arena: arena.actions[0] == a.JUMP_F, 9, pad(y=1.0))
    assert arena.players.speed_y[0] == pytest.approx(2.3)


def test_double_jump_once():
    arena = Arena()
    arena.play(20, second=pad("X"))
    assert arena.players.jumps_left[1] == 1
    arena.play(1).play(1, second=pad("Y", x=-1.0))
    assert arena.actions[1] == a.JUMP_AERIAL_F
    assert arena.players.jumps_left[1] == 0
    assert arena.players.speed_y[1] == pytest.approx(4.416 - 0.23)
    arena.play(5).play(1, second=pad("X"))
    assert arena.actions[1] == a.JUMP_AERIAL_F
    arena.play_until(lambda arena: arena.players.on_ground[1], 120)
    assert arena.players.jumps_left[1] == 2


def test_mewtwos_double_jump_follows_its_path():
    """Heights gained on the first frames, from a replay: 0.113, 0.337, 0.531."""
    arena = Arena().place(0, 0.0, 60.0, grounded=False)
    arena.play(1, pad("X"))
    assert arena.actions[0] == a.JUMP_AERIAL_F
    heights = [float(arena.play(1).players.y[0]) for _ in range(3)]
    assert heights == pytest.approx([60.113, 60.45, 60.981])


def test_fast_fall_needs_a_flick_down_while_falling():
    arena = Arena().place(1, 0.0, 90.0, grounded=False).place(0, -60.0)
    arena.play(20, second=pad(y=-0.5))
    assert arena.players.speed_y[1] == pytest.approx(-2.8)
    arena.play(1, second=pad(y=-1.0))
    assert arena.players.speed_y[1] == pytest.approx(-2.8)  # not a flick
    arena.play(1).play(1, second=pad(y=-1.0))
    assert arena.players.speed_y[1] == pytest.approx(-3.4)
    arena = Arena().play(6, second=pad("X")).play(1, second=pad("X", y=-1.0))
    assert arena.players.speed_y[1] > 0  # not while rising


def test_drift_is_limited_by_air_speed():
    arena = Arena().place(0, -60.0, 150.0, grounded=False)
    arena.play(60, pad(x=1.0))
    assert arena.players.speed_air_x[0] == pytest.approx(1.2)
    arena.play(10)
    assert arena.players.speed_air_x[0] == pytest.approx(1.2 - 10 * 0.016)


@pytest.mark.parametrize(
    ("character", "stick", "landing", "lag", "cancelled"),
    [("mewtwo", 1.0, a.LANDING_FAIR, 25, 12), ("gameandwatch", 0.0, a.LANDING_NAIR, 15, 15)],
)
def test_landing_lag_of_an_aerial_and_its_l_cancel(character, stick, landing, lag, cancelled):
    """Some of Game & Watch's aerials ignore it."""

    def measured(shoulder):
        arena = Arena(character).place(0, 0.0, 12.0, grounded=False).place(1, 60.0)
        arena.play(1, pad("A", x=stick))
        arena.play_until(lambda arena: arena.players.y[0] < 4.0, 60)
        arena.play(1, pad(shoulder))
        arena.play_until(lambda arena: arena.actions[0] == landing, 60)
        return arena.play_until(lambda arena: arena.actions[0] != landing, 60)

    assert measured("") == lag
    assert measured("L") == cancelled


def test_autocancel_has_only_normal_landing_lag():
    arena = Arena().place(1, 0.0, 2.0, grounded=False).place(0, -60.0)
    arena.players.speed_y[1] = -1.5
    arena.play(1, second=pad("A", x=-1.0))  # Fox's forward aerial, autocancelled before frame 6
    arena.play_until(lambda arena: arena.players.on_ground[1], 9)
    assert arena.actions[1] == a.LANDING


def test_air_dodge_is_helpless_and_slides_as_a_wavedash():
    arena = Arena().play(6, pad("X")).play(1, pad("X L", x=1.0, y=-0.5))
    assert arena.actions[0] == a.AIR_DODGE or arena.actions[0] == a.LANDING_FALL_SPECIAL
    arena.play_until(lambda arena: arena.actions[0] == a.LANDING_FALL_SPECIAL, 5, pad("X L", x=1.0, y=-0.5))
    assert arena.players.speed_ground_x[0] > 1.5
    assert arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 20) == 10
    arena = Arena().place(0, 0.0, 90.0, grounded=False).place(1, 60.0)
    arena.play(1, pad("L"))
    assert arena.play(3).players.invulnerable[0]
    arena.play_until(lambda arena: arena.actions[0] == a.FALL_SPECIAL, 60)
    assert arena.play(3, pad("X A")).actions[0] == a.FALL_SPECIAL


def test_mewtwos_teleport_matches_a_real_replay():
    """Seven frames of start, ten of 4.975 units along the stick, fifteen of end, then a helpless fall."""
    arena = Arena().place(0, 0.0, 90.0, grounded=False).place(1, -60.0)
    arena.play(1, pad("B", y=1.0)).play(6, pad(x=1.0))
    assert arena.actions[0] == 356
    x = float(arena.players.x[0])
    arena.play(10, pad(x=1.0))
    assert arena.players.x[0] - x == pytest.approx(49.75)
    assert arena.players.invulnerable[0]
    arena.play(15, pad(x=1.0))
    assert arena.actions[0] == 358
    assert arena.play(1).actions[0] == a.FALL_SPECIAL
    arena.play_until(lambda arena: arena.actions[0] == a.LANDING_FALL_SPECIAL, 200)
    assert arena.play_until(lambda arena: arena.actions[0] == a.WAIT, 60) == 30


def test_fire_fox_flies_far():
    arena = Arena().place(1, 150.0, -60.0, grounded=False)
    arena.play(1, second=pad("B", y=1.0)).play(42, second=pad(x=-0.75, y=0.75))
    assert arena.actions[1] == 356
    before = float(arena.players.y[1])
    arena.play(30)
    assert arena.players.y[1] > before + 40


def test_a_fast_fall_may_start_at_the_very_top_of_a_jump():
    arena = Arena()
    arena.play_until(lambda arena: arena.actions[1] == a.JUMP_F, 9, second=pad("X"))
    arena.play(16, second=pad("X"))
    assert arena.players.speed_y[1] == pytest.approx(0.0, abs=1e-9)  # 3.68 less 16 times 0.23
    arena.players.speed_y[1] = -2e-7  # what single precision makes of it
    assert arena.play(1, second=pad(y=-1.0)).players.speed_y[1] == pytest.approx(-3.4)


def test_walking_off_does_not_fall_fast_at_once():
    arena = Arena().place(1, 60.0, 40.0, grounded=False).place(0, -60.0)
    arena.play(1, second=pad(y=-1.0))
    assert arena.players.speed_y[1] == pytest.approx(-0.23)


def test_a_double_jump_that_ends_in_a_fast_fall_goes_on_slower():
    arena = Arena("sheik").place(0, 0.0, 150.0, grounded=False).place(1, 60.0)
    arena.play(1, pad("X"))
    arena.play_until(lambda arena: arena.players.speed_y[0] < 0.0, 60)
    arena.play(1, pad(y=-1.0))
    assert arena.players.speed_y[0] == pytest.approx(-3.0)
    arena.play_until(lambda arena: arena.actions[0] == a.FALL_AERIAL, 60)
    assert arena.players.speed_y[0] == pytest.approx(-2.13)


def test_a_light_press_cancels_landing_lag_too():
    arena = Arena("marth").place(0, 0.0, 12.0, grounded=False).place(1, 60.0)
    arena.play(1, pad("A", x=1.0))
    arena.play_until(lambda arena: arena.players.y[0] < 4.0, 60)
    arena.play(1, pad(shoulder=0.5))
    arena.play_until(lambda arena: arena.actions[0] == a.LANDING_FAIR, 60, pad(shoulder=0.5))
    assert arena.play_until(lambda arena: arena.actions[0] != a.LANDING_FAIR, 60) == 7


def test_marths_helpless_fall_drifts_slowly():
    arena = Arena("marth").place(0, -60.0, 100.0, grounded=False).place(1, 60.0)
    arena.play(1, pad("B", y=1.0))
    arena.play_until(lambda arena: arena.actions[0] == a.FALL_SPECIAL, 80, pad(x=1.0))
    arena.play(30, pad(x=1.0))
    assert arena.players.speed_air_x[0] == pytest.approx(0.36)  # 0.4 of the 0.9 of other falls


def test_the_stick_has_to_stay_up_a_little_for_a_full_hop():
    for y, speed in ((0.4, 2.3), (0.0, 1.4)):
        arena = Arena().play(1, pad(y=1.0))
        arena.play_until(lambda arena: arena.actions[0] == a.JUMP_F, 9, pad(y=y))
        assert arena.players.speed_y[0] == pytest.approx(speed)


def test_marths_back_aerial_turns_him_around():
    arena = Arena("marth").place(0, 0.0, 150.0, grounded=False).play(1, pad("A", x=-1.0))
    assert arena.play(30).players.facing[0] == 1.0
    assert arena.play(1).players.facing[0] == -1.0


def test_a_flick_that_starts_a_fast_fall_is_used_up():
    arena = Arena("fox").place(0, 0.0, 60.0, grounded=False).play(2).play(1, pad(y=-1.0))
    assert arena.memory.fast_fall[0]
    assert arena.memory.y_age[0] > 100


def test_an_aerial_needs_a_c_stick_that_goes_out_after_the_jump_squat():
    arena = Arena("fox").play(2, pad("X")).play(3, pad("X", c_x=1.0))
    assert arena.actions[0] == a.JUMP_F
    assert arena.play(1).play(1, pad(c_x=1.0)).actions[0] == a.FAIR


@pytest.mark.parametrize(("character", "squat", "share"), [("fox", 3, 1.0), ("marth", 4, 0.5), ("sheik", 3, 0.5)])
def test_how_far_the_first_frame_of_a_wavedash_goes(character, squat, share):
    """Marth and Sheik land after half of it, as measured from replays."""
    arena = Arena(character).play(squat, pad("X")).play(1, pad("X R", x=1.0, y=-0.5))
    assert arena.actions[0] == a.LANDING_FALL_SPECIAL
    assert arena.players.x[0] + 60.0 == pytest.approx(share * float(arena.players.speed_air_x[0]), abs=0.01)


def test_kirbys_first_two_jumps_in_the_air_are_the_highest():
    arena = Arena("kirby").place(1, 60.0).place(0, 0.0, 60.0, grounded=False)
    arena.players.jumps_left[0] = 5
    speeds = []
    for _ in range(3):
        arena.play(1, pad("X")).play(29)
        speeds.append(float(arena.players.speed_y[0]))
    assert speeds[0] == speeds[1]
    assert speeds[1] - speeds[2] == pytest.approx(0.27)


@pytest.mark.parametrize(("character", "step"), [("kirby", 0.032), ("jigglypuff", 0.072)])
def test_many_jumps_drift_by_a_share_of_the_stick(character, step):
    arena = Arena(character).place(1, 60.0).place(0, 0.0, 60.0, grounded=False).play(1, pad("X", x=1.0))
    assert arena.players.speed_air_x[0] == pytest.approx(0.5 + step)
    assert arena.play(1, pad(x=1.0)).players.speed_air_x[0] == pytest.approx(0.5 + 2 * step)
