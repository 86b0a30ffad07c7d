import numpy as np
import pytest

from selfplay_melee.actions import WAIT
from selfplay_melee.controller import TAP, TAP_FRAMES
from selfplay_melee.mock import neutral_actions
from selfplay_melee.state import CONTROLLER, records
from tests.games.play import equal, hands_off, in_world, make, same_state, some_actions


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
            if actions[b, seat, TAP]:
                frames["buttons"][first + TAP_FRAMES : first + frame_skip, b, seat] = 0
        game.step(actions)
    raw.play(frames)
    assert same_state(game, raw)


@pytest.mark.parametrize("character", ["fox", "mewtwo"])
def test_a_tap_is_a_short_hop_whatever_the_frame_skip(character):
    heights = {}
    for frame_skip, tap in [(1, 0), (2, 1), (4, 0), (4, 1), (12, 1)]:
        game = make(1, characters=(character, character), frame_skip=frame_skip, max_episode_frames=10_000)
        while game.state.players["action"][0, 0] != WAIT:
            hands_off(game)
        actions, highest = neutral_actions(1), 0.0
        actions[..., 2], actions[..., TAP] = 1, tap
        for frame in range(0, 48, frame_skip):  # pressed for 12 frames, or tapped
            game.step(actions if frame < 12 else neutral_actions(1), np.full((1, 2), frame == 0 or frame >= 12))
            highest = max(highest, float(game.state.players["y"][0, 0]))
        heights[frame_skip, tap] = highest
    full, short = heights[1, 0], heights[4, 1]
    assert short < 0.7 * full
    assert heights[4, 0] == pytest.approx(full, rel=0.1)
    assert [heights[2, 1], heights[12, 1]] == pytest.approx([short, short], rel=0.25)


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
