"""The render modes of the Gymnasium and PettingZoo environments."""

import importlib.util
import itertools
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordVideo

from selfplay.games.errors import GameError, UnknownNameError
from selfplay.half_blocks import UPPER_HALF
from selfplay_melee.controller import MAIN_X, NEUTRAL
from selfplay_melee.gym import ENV_ID, MockMeleeEnv
from selfplay_melee.rendering import COLUMNS, ROWS

RIGHT = NEUTRAL.copy()
RIGHT[MAIN_X] = 16


def needs(package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}, which is not installed")


def pictures(env, steps=6):
    env.reset(seed=1)
    yield env.render()
    for _ in range(steps):
        env.step(RIGHT)
        yield env.render()


@pytest.mark.parametrize(("frame_skip", "fps"), [(4, 15), (1, 60), (7, 60 / 7)])
def test_a_picture_of_each_moment(frame_skip, fps):
    env = gymnasium.make(ENV_ID, opponent="walker", render_mode="rgb_array", frame_skip=frame_skip)
    assert env.metadata["render_fps"] == fps
    shown = [*pictures(env)]
    assert {(picture.shape, picture.dtype) for picture in shown} == {((360, 640, 3), np.dtype(np.uint8))}
    assert any((a != b).any() for a, b in itertools.pairwise(shown))
    assert np.array_equal(env.render(), env.render())


def test_text_of_each_moment():
    env = MockMeleeEnv("walker", render_mode="ansi")
    first, *later = pictures(env)
    *picture, agent, other, time = first.split("\n")
    assert [row.count(UPPER_HALF) for row in picture] == [COLUMNS] * ROWS
    assert agent.split()[:3] == ["agent", "0%", "●●●●"]
    assert other.startswith("walker ")
    assert time == "0:00.0"
    assert len({first, *later}) > 3


def test_the_list_of_pictures_since_the_last_call():
    env = gymnasium.make(ENV_ID, render_mode="rgb_array_list")
    env.reset(seed=1)
    for _ in range(3):
        env.step(RIGHT)
    assert len(env.render()) == 4


def test_the_end_of_an_episode_still_shows_that_episode():
    env = MockMeleeEnv("idle", max_episode_frames=8, render_mode="ansi")
    assert [text.split("\n")[-1] for text in pictures(env, 2)] == ["0:00.0", "0:00.1", "0:00.1"]
    env.reset()
    assert env.render().endswith("\n0:00.0")


def test_without_a_mode_nothing_is_rendered():
    env = MockMeleeEnv("idle")
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
    env.close()


def test_before_a_reset_there_is_nothing_to_render():
    with pytest.raises(GameError, match="reset"):
        MockMeleeEnv("idle", render_mode="ansi").render()


def test_an_unknown_mode_shows_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown render_mode 'rgb'.*rgb_array"):
        MockMeleeEnv("idle", render_mode="rgb")


def test_a_window_without_pygame_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(GameError, match="pip install pygame"):
        MockMeleeEnv("idle", render_mode="human")


@pytest.fixture
def no_screen(monkeypatch):
    needs("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with warnings.catch_warnings():  # of pygame's own import
        warnings.simplefilter("ignore")
        import pygame
    return pygame


def test_a_window_shows_the_picture(no_screen):
    env = gymnasium.make(ENV_ID, opponent="walker", render_mode="human", frame_skip=1)
    assert [*pictures(env)] == [None] * 7
    drawn = no_screen.surfarray.array3d(no_screen.display.get_surface()).swapaxes(0, 1)
    *_, wanted = pictures(MockMeleeEnv("walker", render_mode="rgb_array", frame_skip=1))
    assert np.array_equal(drawn, wanted)
    env.close()
    env.close()
    assert not no_screen.display.get_init()


def test_gymnasium_records_a_video(tmp_path):
    needs("moviepy")
    env = gymnasium.make(ENV_ID, render_mode="rgb_array", max_episode_frames=60)
    with RecordVideo(env, str(tmp_path / "videos"), episode_trigger=lambda _: True, disable_logger=True) as recorder:
        for _ in pictures(recorder, 15):
            pass
    assert [path.name for path in (tmp_path / "videos").iterdir()] == ["rl-video-episode-0.mp4"]
    assert (tmp_path / "videos" / "rl-video-episode-0.mp4").stat().st_size > 1000


# ---------------------------------------------------------------- the id


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_the_id_plays_at_the_frame_skip_of_policies(make):
    from selfplay_melee.settings import FightConfig

    env = make(ENV_ID, opponent="idle").unwrapped
    env.reset(seed=1)
    env.step(np.broadcast_to(NEUTRAL, env.action_space.shape))
    assert env._duel.game.state.game["frame"].tolist() == [FightConfig().frame_skip]
