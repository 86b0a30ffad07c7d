import pytest

from selfplay_melee import actions as a
from tests.melee.arena import Arena, pad

EDGE = 85.5657  # of Final Destination


def hanging(seat=0, percent=0.0):
    """A player falls beside the right ledge, facing it, and takes it."""
    arena = Arena().place(1 - seat, -60.0)
    arena.players.percent[seat] = percent
    arena.place(seat, EDGE + 3.0, -2.0, facing=-1.0, grounded=False)
    arena.play_until(lambda arena: arena.actions[seat] == a.CLIFF_CATCH, 20)
    return arena


def test_the_ledge_is_grabbed_and_makes_intangible_for_a_while():
    arena = hanging()
    assert arena.players.x[0] == pytest.approx(EDGE + 4.93, abs=0.01)  # as Mewtwo catches and hangs in replays
    assert arena.players.y[0] == pytest.approx(-10.9, abs=0.01)
    assert arena.players.jumps_left[0] == 1
    arena.play(7)
    assert arena.actions[0] == a.CLIFF_WAIT
    assert (arena.players.x[0], arena.players.y[0]) == pytest.approx((EDGE + 2.91, -13.83))
    frames = 7 + arena.play_until(lambda arena: not arena.players.invulnerable[0], 60)
    assert frames == 37


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("facing away", {"facing": 1.0}),
        ("too far", {"x": EDGE + 20.0}),
        ("too low", {"y": -40.0}),
        ("above the floor", {"y": 4.0}),
    ],
)
def test_out_of_reach(reason, change):
    del reason
    arena = Arena().place(1, -60.0).place(0, EDGE + 3.0, -2.0, facing=-1.0, grounded=False)
    for name, value in change.items():
        arena.players[name][0] = value
    arena.play(2)
    assert arena.actions[0] != a.CLIFF_CATCH


@pytest.mark.parametrize(("above", "taken"), [(0.5, True), (-0.5, False)])
def test_the_upper_bound_of_the_reach_is_that_of_the_frame_before(above, taken):
    arena = Arena().place(1, -60.0)
    reach = arena.tables.characters[arena.tables.character_rows[arena.players.character[0]]].ledge_reach_high
    arena.place(0, EDGE + 3.0, above - reach, facing=-1.0, grounded=False)
    arena.players.speed_y[0] = -2.0
    arena.play(1)
    assert (arena.actions[0] == a.CLIFF_CATCH) is taken


def test_holding_down_avoids_the_ledge():
    arena = Arena().place(1, -60.0).place(0, EDGE + 3.0, -2.0, facing=-1.0, grounded=False)
    arena.play(12, pad(y=-0.7))
    assert arena.actions[0] != a.CLIFF_CATCH


def test_an_occupied_ledge_cannot_be_grabbed():
    arena = hanging().play(5)
    arena.place(1, EDGE + 3.0, -2.0, facing=-1.0, grounded=False)
    arena.play(10)
    assert arena.actions[1] == a.FALL


def test_regrab_takes_twenty_nine_frames():
    arena = hanging().play(8).play(1, pad(y=-1.0))
    assert arena.actions[0] == a.FALL
    frames = 0
    while arena.actions[0] != a.CLIFF_CATCH:
        arena.place(0, EDGE + 3.0, -9.0, facing=-1.0, grounded=False)
        arena.play(1)
        frames += 1
    assert frames == 29


@pytest.mark.parametrize(
    ("inputs", "quick", "slow"),
    [
        (pad(y=1.0), a.CLIFF_JUMP_QUICK_1, a.CLIFF_JUMP_SLOW_1),
        (pad("X"), a.CLIFF_JUMP_QUICK_1, a.CLIFF_JUMP_SLOW_1),
        (pad(x=-1.0), a.CLIFF_CLIMB_QUICK, a.CLIFF_CLIMB_SLOW),
        (pad(y=0.5), a.CLIFF_CLIMB_QUICK, a.CLIFF_CLIMB_SLOW),
        (pad("A"), a.CLIFF_ATTACK_QUICK, a.CLIFF_ATTACK_SLOW),
        (pad("R"), a.CLIFF_ROLL_QUICK, a.CLIFF_ROLL_SLOW),
    ],
)
def test_ways_up(inputs, quick, slow):
    for percent, action in ((0.0, quick), (100.0, slow)):
        arena = hanging(percent=percent).play(8).play(1, inputs)
        assert arena.actions[0] == action
        arena.play(100)
        assert arena.players.on_ground[0]
        assert abs(arena.players.x[0]) <= EDGE
        assert arena.players.y[0] == 0


def test_a_ledge_attack_hits_beside_the_edge():
    arena = hanging()
    arena.place(1, EDGE - 10.0)
    arena.play(8).play(1, pad("A")).play(60)
    assert arena.players.percent[1] == 8


def test_nobody_hangs_forever():
    arena = hanging()
    arena.play_until(lambda arena: arena.actions[0] == a.FALL, 700)
    assert arena.players.y[0] < 0
