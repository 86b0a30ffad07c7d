"""The hull that meets floors: its height by frame, what keeps it where it is, and which surfaces it passes."""

import pytest

from selfplay.compilation.compile import compiled
from selfplay_melee import actions as a
from selfplay_melee.physics.stages.stage import fly
from selfplay_melee.tables import CHARACTERS
from tests.melee.arena import Arena, pad

HIGH = 70.0  # units, over every platform


@compiled
def fly_by(player, memory, stage, dx, dy):
    return fly(player, memory, stage, dx, dy, 0.0)


def in_the_air(character="fox", stage="final_destination", action=a.FALL, x=0.0, y=HIGH):
    arena = Arena(left=character, stage=stage).place(0, x, y, grounded=False).place(1, 70.0, 0.0)
    arena.players[0].action = action
    return arena


def height(arena, action, frame):
    row = arena.tables.character_rows[arena.players[0].character]
    return arena.tables.hull[row, action, frame]


def test_after_a_jump_the_hull_stays_at_the_feet_for_nine_frames():
    arena = Arena(left="fox")
    arena.play_until(lambda arena: not arena.players.on_ground[0], 20, pad("X"))
    heights = []
    for _ in range(10):
        heights.append(float(arena.memory[0].hull))
        arena.play(1, pad("X"))
    assert heights[:9] == [0.0] * 9
    assert heights[9] == height(arena, a.JUMP_F, 9) > 0.0


def test_a_jump_in_the_air_keeps_the_hull_where_it_is():
    arena = in_the_air().play(5)
    before = float(arena.memory[0].hull)
    assert before == pytest.approx(height(arena, a.FALL, 5))
    arena.play(1, pad("X"))
    assert arena.players[0].action == a.JUMP_AERIAL_F
    arena.play(8)
    assert arena.memory[0].hull == before
    arena.play(1)
    assert arena.memory[0].hull == height(arena, a.JUMP_AERIAL_F, 9)


def test_the_lock_of_the_hull_runs_out_in_hitlag():
    arena = in_the_air(action=a.NAIR)
    arena.memory[0].hull_lock, arena.players[0].hitlag = 3, 20.0
    arena.play(2)
    assert arena.memory[0].hull == 0.0
    arena.play(1)
    assert arena.memory[0].hull > 0.0


def test_the_animation_of_a_fall_begins_again():
    arena = in_the_air("fox").play(7)
    assert arena.players[0].action_frame == 7.0
    assert arena.play(1).players[0].action_frame == 0.0


def test_a_fall_leans_the_way_it_drifts():
    back, upright = in_the_air("mewtwo"), in_the_air("mewtwo")
    for arena, x in ((back, -1.0), (upright, 0.0)):
        arena.play(20, pad(x=x))
    full = height(back, a.FALL_B, 20)
    assert height(back, a.FALL, 20) + 1.0 < back.memory[0].hull <= full
    assert upright.memory[0].hull == height(upright, a.FALL, 20)
    assert upright.memory[0].lean == 0.0


def test_a_platform_drop_passes_its_platform_and_no_other_though_the_stick_is_held_down():
    arena = Arena(left="fox", stage="battlefield").place(0, 30.0, 27.2).place(1, 60.0, 0.0)
    arena.surface(0, 2)
    arena.play(1).play(2, pad(y=-1.0))
    arena.play_until(lambda arena: arena.players.action[0] == a.PLATFORM_DROP, 4, pad(y=-1.0))
    arena.play(3, pad(y=-1.0))
    assert arena.players.y[0] < 27.2
    lower = in_the_air("fox", "battlefield", a.PLATFORM_DROP)
    lower.play_until(lambda arena: arena.players.on_ground[0], 60, pad(y=-1.0))
    assert lower.memory[0].surface == 3


@pytest.mark.parametrize("action", [a.JUMP_F, a.FALL, a.CLIFF_JUMP_QUICK_2])
@pytest.mark.parametrize(("stick", "surface"), [(-0.65, 0), (-0.6375, 3)])
def test_holding_down_passes_platforms_in_jumps_and_falls(action, stick, surface):
    arena = in_the_air("fox", "battlefield", action)
    arena.players[0].speed_y = -2.0
    arena.play_until(lambda arena: arena.players.on_ground[0], 90, pad(y=stick))
    assert arena.memory[0].surface == surface


@pytest.mark.parametrize(("x", "dx", "landed"), [(18.0, 1.2, 3), (21.0, -2.5, -1), (17.0, 0.5, 3), (19.5, 0.1, -1)])
def test_a_surface_holds_who_crosses_it_between_its_edges(x, dx, landed):
    arena = in_the_air(stage="battlefield", x=x, y=55.0)
    player, memory = arena.players[0], arena.memory[0]
    memory.hull = 0.0
    stage = arena.tables.stages[memory.stage_row]
    right = stage["surface_right"][3]
    assert fly_by(player, memory, stage, dx, -1.0) == landed
    if landed == 3:
        assert player.x == min(x + dx, right)


def test_every_character_has_falls_that_begin_again():
    arena = Arena()
    for number in CHARACTERS.values():
        row = arena.tables.character_rows[number]
        assert arena.tables.actions[row, a.FALL].loop > 0
