"""What stages do by chance: the platforms of Fountain of Dreams, the wind of Dream Land."""

from itertools import pairwise

import pytest

from selfplay_melee import actions as a
from selfplay_melee.physics.frame import start_game
from selfplay_melee.physics.stages import fountain, wind
from tests.melee.arena import Arena, pad


def seeded(stage, seed, **arguments):
    arena = Arena("marth", "marth", stage, **arguments)
    arena.game.seed = seed
    arena.restart()
    return arena


def heights(seed, frames):
    """[frames] height of the left platform."""
    arena = seeded("fountain_of_dreams", seed).place(0, 0.0).surface(0, 0).place(1, 5.0).surface(1, 0)
    found = []
    for _ in range(frames):
        arena.step()
        found.append(float(arena.game.fountain_left[0]))
    return found


def test_fountain_platforms_move_as_the_game_says():
    seen = [heights(seed, 6000) for seed in range(1, 7)]
    assert len({tuple(one) for one in seen}) == 6
    for one in seen:
        assert one[:477] == [fountain.FIRST_LEFT] * 477  # a rest of at least 600 frames, 123 of them before GO
        steps = {round(after - before, 9) for before, after in pairwise(one)}
        assert max(steps) <= fountain.RISE + 1e-9
        assert min(steps) >= -fountain.SINK - 1e-9
    assert min(min(one) for one in seen) == fountain.SUNK
    assert max(max(one) for one in seen) <= fountain.HIGHEST


def test_a_game_with_the_same_seed_has_the_same_fountain():
    assert heights(3, 2000) == heights(3, 2000)


def test_the_fountain_lifts_who_stands_on_it_and_drops_them_under_water():
    arena = Arena("marth", "marth", "fountain_of_dreams")
    arena.game.fountain_moves[0][1] = 1
    arena.game.fountain_target[0][1] = 24.0
    arena.play(10)
    assert arena.players.y[1] == pytest.approx(22.125 + 10 * fountain.RISE)
    arena.game.fountain_target[0][1] = fountain.SUNK
    frames = arena.play_until(lambda arena: not arena.players.on_ground[1], 400)
    assert frames == pytest.approx((23.25 - fountain.SURFACE) / fountain.SINK, abs=2)
    arena.play(20)
    assert arena.players.on_ground[1]
    assert arena.memory.surface[1] == 0
    assert arena.memory.platform_y[1][1] < -900


def test_nobody_stands_on_a_platform_that_comes_up_until_it_is_under_their_feet():
    arena = Arena("marth", "marth", "fountain_of_dreams")
    arena.game.fountain_right = fountain.SUNK
    arena.game.fountain_moves[0][1], arena.game.fountain_target[0][1] = 1, fountain.REST
    arena.place(1, 35.0, 40.0, grounded=False)
    arena.play_until(lambda arena: arena.players.on_ground[1], 100)
    assert arena.memory.surface[1] == 3
    assert fountain.SURFACE < arena.players.y[1] < 15.0


def blown(arena, direction, frames=1):
    arena.game.wind, arena.game.wind_frames = direction, frames + 1
    return arena


@pytest.mark.parametrize(
    ("direction", "x", "moved"), [(-1, -40.0, -0.2), (-1, 40.0, 0.0), (1, 40.0, 0.2), (1, -40.0, 0.0)]
)
def test_wind_moves_who_stands_on_its_side_of_the_tree(direction, x, moved):
    arena = blown(Arena("fox", "fox", "dreamland").place(0, x).surface(0, 0).place(1, -x).surface(1, 0), direction)
    arena.play(1)
    assert arena.players.x[0] - x == pytest.approx(moved)
    arena.play(1)
    assert arena.players.x[0] - x == pytest.approx(moved), "the wind has ended"
    assert arena.players.action[0] == a.WAIT


def test_wind_moves_players_in_the_air_but_not_above_its_top():
    for y, moved in ((30.0, 0.2), (60.0, 0.0)):
        arena = Arena("fox", "fox", "dreamland").place(0, 20.0, y, grounded=False).place(1, -60.0).surface(1, 0)
        blown(arena, 1).play(1)
        assert arena.players.x[0] - 20.0 == pytest.approx(moved)


def test_wind_blows_for_its_length_towards_the_side_with_more_players():
    for side in (-1, 1):
        arena = seeded("dreamland", 5)
        arena.place(0, side * 40.0).surface(0, 0).place(1, side * 60.0).surface(1, 0)
        for name in ("x", "y"):
            arena.players[name] = arena.players[name].copy()
        blows = []
        for _ in range(3000):
            arena.players.x[:] = side * 40.0, side * 60.0
            arena.step()
            blows.append(int(arena.game.wind[0]))
        assert set(blows) == {0, side}
        first = blows.index(side)
        assert wind.CALM_FRAMES <= first < wind.CALM_FRAMES + wind.MORE_CALM
        assert blows[first : first + wind.FRAMES] == [side] * wind.FRAMES
        assert blows[first + wind.FRAMES] == 0


def test_other_stages_have_no_wind():
    arena = seeded("battlefield", 5).play(2000)
    assert arena.game.wind == 0
    assert arena.game.wind_frames == 0


def test_a_new_game_starts_the_chances_anew():
    arena = seeded("dreamland", 9).play(1500, pad(x=1.0))
    first = int(seeded("dreamland", 9).game.wind_frames[0])
    game, players, memory, _ = arena.arrays
    start_game(game[0], players, memory, arena.tables, 0.0)
    assert arena.game.wind == 0
    assert arena.game.wind_frames[0] == first
