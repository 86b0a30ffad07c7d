import numpy as np
import pytest

from selfplay_melee.state import CONTROLLER, records
from tests.games.play import equal, in_world, make, same_state, some_actions


@pytest.mark.parametrize("delay", [0, 1, 3, 18])
def test_an_action_is_first_the_input_of_the_frame_after_the_delay(delay):
    game = make(2, delay=delay)
    chosen = []
    for n, actions in enumerate(some_actions(40)):
        chosen.append(in_world(game, actions))
        game.step(actions)  # chosen on seeing frame n, plays frame n + 1
        wanted = chosen[n - delay] if n >= delay else records(CONTROLLER, 2, 2)
        assert equal(game.state.controllers, wanted)


@pytest.mark.parametrize("frame_skip", [1, 3, 4])
@pytest.mark.parametrize("delay", [(0, 0), (3, 3), (0, 7), (5, 2), [[1, 4], [9, 0]]])
def test_skip_and_delay_are_the_same_frames_played_raw(frame_skip, delay):
    steps, games = 60, 2
    game, raw = make(games, frame_skip=frame_skip, delay=delay), make(games)
    frames = records(CONTROLLER, steps * frame_skip, games, 2)
    delays = np.broadcast_to(delay, (games, 2))
    for t, actions in enumerate(some_actions(steps, games)):
        pads = in_world(game, actions)
        for b, seat in np.ndindex(games, 2):
            first = t * frame_skip + delays[b, seat]
            frames[first : first + frame_skip, b, seat] = pads[b, seat]
        game.step(actions)
    raw.play(frames)
    assert same_state(game, raw)


def test_play_is_step_without_skip_and_delay_resets_included():
    options = {"max_episode_frames": 50, "stagger": True}
    game, raw = make(3, **options), make(3, **options)
    frames = records(CONTROLLER, 200, 3, 2)
    for t, actions in enumerate(some_actions(200, 3)):
        frames[t] = in_world(game, actions)
        game.step(actions)
        if t % 77 == 0:
            raw.play(frames[max(0, t - 76) : t + 1])
            assert same_state(game, raw)


def test_who_does_not_act_holds_the_controller_in_the_world_s_view():
    game = make(1)
    first, second = some_actions(2, 1)
    held = in_world(game, first)
    game.step(first)
    game.state.players["x"] *= -1.0  # now each seat sees the other way round
    game.play(records(CONTROLLER, 0, 1, 2))  # the view follows
    chosen = in_world(game, second)
    game.step(second, acts=np.array([[False, True]]))
    assert equal(game.state.controllers[:, 0], held[:, 0])
    assert equal(game.state.controllers[:, 1], chosen[:, 1])


def test_nobody_holds_a_controller_of_the_last_episode():
    game = make(1, max_episode_frames=5)
    nobody = np.zeros((1, 2), bool)
    actions = some_actions(1, 1)[0]
    game.step(actions)
    for _ in range(4):
        batch = game.step(actions, nobody)
    assert batch.truncated.all()
    game.step(actions, nobody)
    assert equal(game.state.controllers, records(CONTROLLER, 1, 2))


def test_seats_may_decide_at_different_frame_skips():
    """Two blocks: one of 2-frame steps in which a seat acts every other time, one of 4-frame steps."""
    mixed, plain = make(2, frame_skip=2, delay=(1, 0)), make(2, frame_skip=4, delay=(1, 0))
    for actions in some_actions(50):
        plain.step(actions)
        mixed.step(actions)
        mixed.step(some_actions(1, seed=9)[0], acts=np.zeros((2, 2), bool))
        assert same_state(mixed, plain)
