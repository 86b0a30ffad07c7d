"""Nothing tunnels: floors, platforms and the body of the stage hold at any speed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.compilation.compile import compiled
from selfplay_melee import actions as a
from selfplay_melee.physics.stages.stage import (
    EDGE_SLACK,
    bottom,
    fly,
    half_width,
    inside_body,
    surface_height,
    surface_left,
    surface_right,
)
from selfplay_melee.tables import STAGES
from tests.melee.arena import Arena, pad, random_pads
from tests.support.cases import first_alone


@compiled
def fly_by(player, memory, stage, dx, dy):
    return fly(player, memory, stage, dx, dy, 0.0)


@compiled
def is_inside(stage, x, y):
    return inside_body(stage, x, y)


@compiled
def width_at(stage, y):
    return half_width(stage, y)


@compiled
def underside(stage):
    return bottom(stage)


@compiled
def surface_at(memory, stage, surface, x):
    return (
        surface_height(memory, stage, surface, x),
        surface_left(memory, stage, surface),
        surface_right(memory, stage, surface),
    )


def flier(stage, x, y):
    arena = Arena(stage=stage).place(0, x, y, grounded=False)
    return arena.players[0], arena.memory[0], arena.tables.stages[arena.memory[0].stage_row]


def test_landing_on_floor_and_platforms_from_above_only():
    arena = Arena(stage="battlefield").place(0, 0.0, 80.0, grounded=False).place(1, 60.0, 80.0)
    arena.play_until(lambda arena: arena.players.on_ground[0], 200)
    assert arena.players.y[0] == 54.4
    arena = Arena(stage="battlefield").place(0, 0.0).surface(0, 0).play(12, pad("X"))
    assert arena.players.y[0] > 10
    arena.play_until(lambda arena: arena.players.on_ground[0], 100)
    assert arena.players.y[0] in (0, 54.4)


def test_a_flick_down_drops_through_a_platform_but_not_the_floor():
    arena = Arena(stage="battlefield")
    assert arena.players.y[0] == 27.2
    arena.play_until(lambda arena: arena.actions[0] == a.PLATFORM_DROP, 9, pad(y=-1.0))
    arena.play_until(lambda arena: arena.players.on_ground[0], 60)
    assert arena.players.y[0] == 0
    arena.play(30, pad(y=-1.0))
    assert arena.players.y[0] == 0


def test_a_shield_drops_through_a_platform():
    arena = Arena(stage="battlefield").play(9, pad("R")).play(1, pad("R", y=-0.6875))
    assert arena.actions[0] == a.PLATFORM_DROP


def test_walking_off_a_platform_falls():
    arena = Arena(stage="battlefield")
    arena.play_until(lambda arena: not arena.players.on_ground[0], 60, pad(x=1.0))
    assert arena.players.x[0] > -20
    assert arena.players.jumps_left[0] == 1


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_a_player_under_the_stage_stays_under_it(stage):
    player, memory, record = flier(stage, 3.0, 0.0)
    lowest = underside(record)
    player.y = lowest - 20.0
    for _ in range(100):
        fly_by(player, memory, record, 0.0, 2.0)
    assert player.y <= lowest + 1e-9
    player, memory, record = flier(stage, 3.0, lowest - 20.0)
    fly_by(player, memory, record, 0.0, 300.0)
    assert player.y <= lowest + 1e-9
    assert player.speed_y <= 0


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_a_player_beside_the_stage_meets_its_wall(stage):
    for side in (-1.0, 1.0):
        player, memory, record = flier(stage, side * 100.0, -5.0)
        player.speed_air_x = -side * 30.0
        fly_by(player, memory, record, -side * 300.0, 0.0)
        assert player.x == pytest.approx(side * width_at(record, -5.0))
        assert player.speed_air_x == -side * 30.0


def test_the_low_middle_of_the_fountain_is_no_inside():
    player, memory, record = flier("fountain_of_dreams", 0.0, 0.3)
    assert fly_by(player, memory, record, 0.0, 2.0) == -1
    assert player.y == pytest.approx(2.3)


def test_who_is_under_the_floor_by_a_wrong_hull_lands():
    player, memory, record = flier("battlefield", 10.0, -3.0)
    assert fly_by(player, memory, record, 0.5, -2.0) == 0
    assert (player.x, player.y) == (10.0, 0.0)


places = st.tuples(st.floats(-240, 240), st.floats(-100, 180))
steps = st.lists(st.tuples(st.floats(-80, 80), st.floats(-80, 80)), min_size=1, max_size=20)


@settings(max_examples=200)
@given(st.sampled_from(sorted(STAGES)), places, steps)
def test_no_flight_enters_the_body_or_jumps_through_the_floor(stage, place, steps):
    player, memory, record = flier(stage, *place)
    if is_inside(record, *place) or -1e-5 < place[1] - surface_at(memory, record, 0, place[0])[0] < 0:
        return  # inside, or within the rounding of a slope
    for dx, dy in steps:
        x, y = float(player.x), float(player.y)
        surface = fly_by(player, memory, record, dx, dy)
        if surface >= 0 and record.surface_mover[surface] >= 0:
            return  # Randall passes through the body
        assert not is_inside(record, player.x, player.y)
        edge = record.surface_right[0]
        was_under = y < surface_at(memory, record, 0, x)[0]
        is_over = player.y > surface_at(memory, record, 0, player.x)[0]
        crossed = was_under and is_over and max(abs(x), abs(player.x)) < edge and abs(dx) < 1
        assert not crossed  # from below to above within the edges
        if surface >= 0:
            assert player.y == surface_at(memory, record, surface, player.x)[0]
            assert record.num_floor > 2 or y >= player.y


def test_drifting_back_from_below_does_not_snap_to_the_top():
    """The predecessor put a player who was under the stage on top of it."""
    arena = Arena().place(1, 0.0).place(0, 60.0, -70.0, grounded=False)
    arena.play(40, pad(x=-1.0))
    assert not arena.players.on_ground[0]
    assert arena.players.y[0] < -54


@pytest.mark.parametrize("stage", first_alone(sorted(STAGES)))
@pytest.mark.parametrize("seed", first_alone(range(6)))
def test_random_play_stays_sane(stage, seed):
    """4 000 frames a case: finite, hull outside the body, on the ground exactly at a surface."""
    arena = Arena(("mewtwo", "fox", "jigglypuff", "sheik", "marth", "ganondorf")[seed], "fox", stage)
    most_jumps = int(arena.tables.characters["air_jumps"].max())
    pads = random_pads(seed, 4000)
    record = arena.tables.stages.view(np.recarray)[arena.memory[0].stage_row]
    for frame in range(len(pads)):
        if frame % 500 == 499:
            arena.players.percent += 60
        arena.controllers[:] = pads[frame]
        arena.step()
        for seat in range(2):
            player, memory = arena.players[seat], arena.memory[seat]
            values = [player.x, player.y, player.speed_y, player.speed_air_x, player.speed_attack_x, player.percent]
            assert np.isfinite(values).all()
            # Randall carries players through the body; a hit changes the pose, and what is inside then lands;
            # who gets up from the ledge follows a recorded path, which passes 0.001 units within the corner
            getting_up = a.CLIFF_CATCH <= player.action <= a.CLIFF_JUMP_QUICK_2
            if stage != "yoshis_story" and player.hitlag == 0 and not getting_up:
                assert not is_inside(record, player.x, player.y + memory.hull)
            held = a.CAPTURE_PULLED_HIGH <= player.action <= a.CAPTURE_DAMAGE  # where the holder is
            if player.on_ground and not held:
                height, left, right = surface_at(memory, record, memory.surface, player.x)
                assert player.y == height
                assert left - EDGE_SLACK <= player.x <= right + EDGE_SLACK
            assert 0 <= player.shield <= 60
            assert 0 <= player.jumps_left <= 1 + most_jumps
        if arena.over:
            arena.restart()


def test_a_walk_on_a_slope_follows_it_and_is_slower_sideways():
    arena = Arena("fox", "fox", "yoshis_story").place(1, 0.0).place(0, -50.0)
    arena.surface(0, 0).play(1)
    assert arena.players.y[0] == pytest.approx(-3.5 + 6.0 / 16.8 * 3.5)
    before = float(arena.players.x[0])
    arena.play(1, pad(x=0.5))
    arena.play(20, pad(x=0.5))
    steps = arena.players.x[0] - before
    height, _, _ = surface_at(arena.memory[0], arena.tables.stages[arena.memory[0].stage_row], 0, arena.players.x[0])
    assert arena.players.on_ground[0]
    assert arena.players.y[0] == height
    assert steps > 0
    speed = float(arena.players.speed_ground_x[0])
    before = float(arena.players.x[0])
    arena.play(1, pad(x=0.5))
    if arena.players.x[0] < -39.2:
        assert arena.players.x[0] - before == pytest.approx(float(arena.players.speed_ground_x[0]) * 0.979, abs=1e-3)
    assert speed > 0


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_flying_sideways_into_a_slope_lands_on_it(side):
    player, memory, record = flier("yoshis_story", side * 70.0, -1.0)
    assert fly_by(player, memory, record, -side * 20.0, 0.0) == -1
    assert player.x == pytest.approx(side * 50.0)
    assert fly_by(player, memory, record, -side * 20.0, 0.0) == 0
    assert player.y == surface_at(memory, record, 0, player.x)[0]
    assert abs(player.x) < 45


def test_randall_goes_around_and_carries_who_stands_on_it():
    arena = Arena("fox", "fox", "yoshis_story").place(1, 0.0).surface(1, 0)
    seen = []
    arena.place(0, 0.0)
    arena.memory.surface[0] = 4
    record = arena.tables.stages.view(np.recarray)[arena.memory[0].stage_row]
    height, left, _ = surface_at(arena.memory[0], record, 4, 0.0)
    arena.players.x[0], arena.players.y[0] = left + 5.0, height
    for _ in range(1200):
        arena.step()
        height, left, _ = surface_at(arena.memory[0], record, 4, 0.0)
        assert arena.memory.surface[0] == 4
        assert arena.players.y[0] == height
        assert arena.players.x[0] == pytest.approx(left + 5.0)
        seen.append((left, height))
    assert min(x for x, _ in seen) < -103
    assert max(x for x, _ in seen) > 91
    assert min(y for _, y in seen) < -33
    assert max(y for _, y in seen) > -13.7
    arena.step()
    height, left, _ = surface_at(arena.memory[0], record, 4, 0.0)
    assert (left, height) == pytest.approx(seen[0])


def test_heights_of_the_fountain_come_from_outside_when_given():
    arena = Arena("marth", "marth", "fountain_of_dreams")
    assert (arena.players.y[0], arena.players.y[1]) == (16.125, 22.125)
    arena.game.fountain_given = 1
    for height in (16.2, 16.5, 20.0, 12.0):
        arena.game.fountain_left = height
        arena.step()
        assert arena.players.y[0] == height
        assert arena.players.y[1] == 22.125
        assert arena.players.on_ground[0]
