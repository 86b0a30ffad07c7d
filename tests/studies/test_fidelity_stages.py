"""What a replay says about moving stages, on games of the mock whose true state is known."""

from dataclasses import replace

import numpy as np
import pytest

from scripts.studies.fidelity import coverage, stadium
from scripts.studies.fidelity.stages import stage_state
from selfplay_melee.physics.stages import fountain, wind
from selfplay_melee.replay import Recording, replay_of, seat_of
from selfplay_melee.slp.columns import recorded_heights
from selfplay_melee.state import GameState
from selfplay_melee.tables import STAGES
from tests.melee.arena import Arena, random_pads


def played(stage, frames, seed=4, still=False):
    """The true GAME of each frame, and the replay."""
    arena = Arena("fox", "marth", stage)
    arena.game.seed = seed
    arena.restart()
    game, players, _, controllers = arena.arrays
    recording, pads = Recording(), random_pads(seed, frames)
    true = []
    for frame in range(frames):
        if not still:
            controllers[:] = pads[frame]
        arena.step()
        true.append(game.copy())
        recording.take(GameState(game, players[None], controllers[None]))
    state = recording.state()
    seats = tuple(seat_of(seat, int(state.players["character"][0, seat])) for seat in range(2))
    return np.concatenate(true), replay_of(state, seats, STAGES[stage])


def unrecorded(replay, name):
    return replace(replay, absent=replay.absent | {name})


def test_wind_shows_in_players_who_move_beside_their_speeds():
    true, replay = played("dreamland", 1500, still=True)
    blows = true["wind"] != 0
    assert blows.any()
    seen = stage_state(unrecorded(replay, "whispy"))
    assert (seen["wind"] == true["wind"]).mean() > 0.99
    first = np.flatnonzero(blows)[0]
    assert seen["wind_frames"][first : first + 100].tolist() == true["wind_frames"][first : first + 100].tolist()


def test_recorded_wind_is_taken_as_it_is():
    _, replay = played("dreamland", 500, still=True)
    whispy = np.zeros(500, np.int16)
    whispy[100:374] = 1
    seen = stage_state(replace(replay, whispy=whispy))
    assert np.flatnonzero(seen["wind"] == -1).tolist() == list(range(100, 374))
    assert seen["wind_frames"][[99, 100, 373, 374]].tolist() == [0, wind.FRAMES, 1, 0]


@pytest.mark.parametrize("seed", [1, 2])
def test_recorded_platforms_go_on_as_they_move(seed):
    true, replay = played("fountain_of_dreams", 2500, seed, still=True)
    assert not np.isnan(recorded_heights(replay.state.game)).any()
    seen = stage_state(replay)
    for i, name in enumerate(("fountain_left", "fountain_right")):
        assert seen[name] == pytest.approx(true[name], abs=1e-4)
        rising = np.flatnonzero(np.diff(true[name]) > 0.1) + 1
        assert (seen["fountain_target"][rising, i] >= true[name][rising] - 1e-4).all()
        assert seen["fountain_moves"][rising[1:-2], i].all()
    assert not seen["fountain_given"].any()


def test_who_stands_on_a_platform_shows_its_height():
    true, replay = played("fountain_of_dreams", 1500, 1, still=True)
    game = replay.state.game.copy()
    game["fountain_given"] = 0
    game["fountain_left"] = game["fountain_right"] = np.nan
    hidden = replace(replay, state=type(replay.state)(game, replay.state.players, replay.state.controllers))
    seen = stage_state(hidden)
    for i, name in enumerate(("fountain_left", "fountain_right")):
        above = true[name] > fountain.SURFACE + 0.1
        assert seen[name][above] == pytest.approx(true[name][above], abs=1e-3), i


def stadium_game(frames=2000):
    return played("pokemon_stadium", frames, still=True)[1]


def test_a_stadium_of_another_shape_is_not_covered():
    replay = stadium_game()
    assert not stadium.transformed(replay).any()
    events = np.full((2000, 2), -1, np.int32)
    events[100:] = 3, 9
    events[402:] = 4, 9
    events[705:] = 0, 9
    events[1200:] = 3, 5
    events[1805:] = 0, 5
    known = replace(replay, stadium=events)
    assert np.flatnonzero(stadium.transformed(known)).tolist() == list(range(402, 1805))
    assert set(coverage.reasons(known)[402:1805]) == {coverage.STAGE}


def test_players_on_new_floors_show_a_change_that_is_not_recorded():
    replay = unrecorded(stadium_game(), "stadium")
    post = replay.post.copy()
    post["ground"] = 34
    assert not stadium.transformed(replace(replay, post=post)).any()
    post["ground"][1000, 1] = 20
    changed = np.flatnonzero(stadium.transformed(replace(replay, post=post)))
    assert (changed[0], changed[-1]) == (1000 - stadium.CHANGE_BEFORE, 1000 + stadium.CHANGE_AFTER - 1)
