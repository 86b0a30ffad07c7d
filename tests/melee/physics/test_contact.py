"""Which attacks touch which bodies and shields."""

import numpy as np
import pytest

from selfplay.compilation.compile import compiled
from selfplay_melee import actions as a
from selfplay_melee.physics.actions.shield import shield_place, shield_size
from selfplay_melee.physics.hits import contact
from tests.melee.arena import Arena, pad

SHIELD = pad("R", shoulder=1.0)


@compiled
def _touches(victim, memory, tables, ways, radius, found):
    for i in range(len(ways)):
        way = ways[i]
        found[i] = contact.touches_body(victim[0], memory[0], tables, way[0], way[1], way[2], way[3], radius)


@compiled
def _bubble(p, m, tables, out):
    c = tables.characters[m[0].character_row]
    out[0], out[1] = shield_place(p[0], m[0], c)
    out[2] = shield_size(p[0], m[0], c)


def touches(arena, *ways, radius=1.0):
    """Whether circles that go from (x, y) to (x, y) touch seat 1."""
    found = np.zeros(len(ways), bool)
    _, players, memory, _ = arena.arrays
    _touches(players[1:], memory[1:], arena.tables, np.array(ways, float), radius, found)
    return found.tolist()


def bubble(arena):
    """Centre x and y from the feet, and radius of seat 1's shield."""
    out = np.zeros(3)
    _, players, memory, _ = arena.arrays
    _bubble(players[1:], memory[1:], arena.tables, out)
    return out - (arena.players.x[1], arena.players.y[1], 0.0)


def standing(victim="falco", facing=1.0):
    arena = Arena("fox", victim).place(0, -40.0).place(1, 0.0, facing=facing)
    arena.players.action[1], arena.players.action_frame[1] = a.WAIT, 0.0
    return arena


def test_a_still_circle_touches_what_it_overlaps():
    at_head, over_head, far = (0.0, 14.0, 0.0, 14.0), (0.0, 20.0, 0.0, 20.0), (12.0, 8.0, 12.0, 8.0)
    assert touches(standing(), at_head, over_head, far) == [True, False, False]


def test_a_circle_touches_what_it_passes_on_its_way():
    assert touches(standing(), (-20.0, 8.0, 20.0, 8.0), (-20.0, 20.0, 20.0, 20.0)) == [True, False]


def test_a_crouching_player_is_lower():
    arena, high = standing(), (1.0, 14.5, 1.0, 14.5)
    assert touches(arena, high) == [True]
    arena.players.action[1] = a.SQUAT_WAIT
    assert touches(arena, high) == [False]


def test_a_leg_that_kicks_can_be_hit():
    arena, behind = standing(), (-9.5, 11.0, -9.5, 11.0)
    assert touches(arena, behind) == [False]
    arena.players.action[1], arena.players.action_frame[1] = a.BAIR, 5.0
    assert touches(arena, behind) == [True]


@pytest.mark.parametrize("action", [a.WAIT, a.BAIR, a.DOWN_WAIT, a.SQUAT_WAIT])
def test_bodies_are_mirrored_with_their_facing(action):
    ways = np.random.default_rng(0).uniform(-12.0, 16.0, (200, 4))
    right, left = standing(facing=1.0), standing(facing=-1.0)
    right.players.action[1] = left.players.action[1] = action
    found = touches(right, *ways)
    assert found == touches(left, *(ways * (-1.0, 1.0, -1.0, 1.0)))
    assert 0 < sum(found) < len(found)


def test_the_whole_way_counts_exactly_as_its_points_do():
    arena, rng = standing(), np.random.default_rng(1)
    for start, end in rng.uniform(-12.0, 18.0, (60, 2, 2)):
        points = [start + share * (end - start) for share in np.linspace(0.0, 1.0, 201)]
        inside = any(touches(arena, *((*point, *point) for point in points), radius=1.0))
        outside = not any(touches(arena, *((*point, *point) for point in points), radius=1.1))
        assert touches(arena, (*start, *end), radius=1.05) != [False] or not inside
        assert touches(arena, (*start, *end), radius=1.05) != [True] or not outside


def test_a_taller_character_has_a_larger_body():
    high = (1.5, 17.0, 1.5, 17.0)
    assert touches(standing("fox"), high) == [False]
    assert touches(standing("falco"), high) == [True]


def test_shields_shrink_with_their_health_and_grow_with_a_light_press():
    arena = standing().play(20, second=SHIELD)
    c = arena.tables.characters[arena.tables.character_rows[int(arena.players.character[1])]]
    arena.players.shield[1] = 60.0
    assert bubble(arena)[2] == pytest.approx(2.0 * c.shield_radius * 0.575)
    arena.players.shield[1] = 0.0
    assert bubble(arena)[2] == pytest.approx(2.0 * c.shield_radius * 0.15)
    light = standing().play(20, second=pad(shoulder=0.31))
    light.players.shield[1] = 60.0
    assert bubble(light)[2] > 2.0 * c.shield_radius * 0.98


def test_the_stick_tilts_a_shield_by_half_of_the_way_a_frame():
    arena = standing().play(20, second=SHIELD)
    start = bubble(arena)
    first = bubble(arena.play(1, second={**SHIELD, "main_y": 0.5}))
    second = bubble(arena.play(1, second={**SHIELD, "main_y": 0.5}))
    assert first[1] > start[1]
    assert second[1] - first[1] == pytest.approx((first[1] - start[1]) / 2.0)
    assert first[0] == start[0]


def test_intangibility_starts_on_its_own_frame():
    arena = Arena("fox", "falco").place(0, 0.0).place(1, 8.0)
    arena.play(4)
    entry = arena.tables.actions[arena.memory.character_row[1], a.SPOT_DODGE]
    arena.players.action[1], arena.players.action_frame[1] = a.SPOT_DODGE, entry.intangible_from - 1.0
    arena.players.action[0], arena.players.action_frame[0] = a.JAB_1, 1.0  # out on the next frame
    arena.play(1)
    assert arena.players.action_frame[0] == 2.0
    assert arena.players.invulnerable[1] == 1
    assert arena.players.percent[1] == 0.0
