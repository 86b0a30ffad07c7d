import itertools

import numpy as np
import pytest
from PIL import Image

from envs.melee import actions
from envs.melee.state import GameState
from envs.melee.tables import CHARACTERS, STAGES, load_tables
from selfplay.errors import ConfigError
from selfplay.report.figure import BUILDS, POSES, Build, pose_of, skeleton
from selfplay.report.film import Recorder, write_gif
from selfplay.report.picture import COLOURS, HEIGHT, WIDTH, draw_frame

NAMES = ("gen_5", "random")
RED, BLUE = COLOURS


def fight(stage="final_destination"):
    """A standing pair, 40 units apart."""
    state = GameState.zeros(1)
    state.game["stage"] = STAGES[stage]
    state.players["character"] = [CHARACTERS["fox"], CHARACTERS["mewtwo"]]
    state.players["x"], state.players["facing"] = [-20, 20], [1, -1]
    state.players["action"], state.players["stocks"], state.players["shield"] = actions.WAIT, 4, 60
    return state


def pixels(image, colour, box=(0, 0, WIDTH, HEIGHT - 60)):
    """Columns and rows that have exactly this colour, the HUD left out."""
    rows, columns = np.nonzero((np.asarray(image.crop(box)) == colour).all(-1))
    return columns, rows


def draw(state):
    return draw_frame(state.game[0], state.players[0], NAMES)


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_every_group_of_actions_can_be_drawn(stage):
    for action in np.unique(actions.CATEGORY_OF, return_index=True)[1]:
        state = fight(stage)
        state.players["action"] = action
        assert draw(state).size == (WIDTH, HEIGHT)


def test_players_stand_where_the_state_says():
    state = fight()
    before, _ = pixels(draw(state), RED)
    state.players[0, 0]["x"] = 0
    after, _ = pixels(draw(state), RED)
    assert len(before) > 50
    assert np.median(after) == pytest.approx(WIDTH / 2, abs=10)
    assert np.median(before) < np.median(after) - 30
    blue, _ = pixels(draw(state), BLUE)
    assert np.median(blue) > WIDTH / 2 + 20


def test_who_is_outside_is_shown_at_the_edge():
    state = fight()
    state.players[0, 1]["x"] = 190
    columns, _ = pixels(draw(state), BLUE, (0, 80, WIDTH, HEIGHT - 60))
    assert len(columns) > 10
    assert columns.min() > WIDTH - 40


def test_shield_hit_and_invulnerability_are_visible():
    plain = np.asarray(draw(fight()))
    for field, value in (("action", actions.GUARD), ("hitlag", 4), ("hitstun", 9), ("invulnerable", 1)):
        state = fight()
        state.players[0, 0][field] = value
        assert (np.asarray(draw(state)) != plain).any(-1).sum() > 50, field


def test_hit_circles_are_shown_on_their_frames_only():
    tables = load_tables()
    row = tables.character_rows[CHARACTERS["fox"]]
    action = tables.actions[row, actions.FSMASH]
    hit = tables.hits[action["first_hit"]]
    state = fight()
    state.players[0, 0]["action"] = actions.FSMASH
    state.players[0, 0]["action_frame"] = hit["start"]
    during = np.asarray(draw(state)).astype(int)
    state.players[0, 0]["action_frame"] = hit["start"] - 1
    before = np.asarray(draw(state)).astype(int)
    assert (np.abs(during - before).sum(-1) > 30).sum() > 50


def test_percent_stocks_and_names_are_in_the_hud():
    plain = np.asarray(draw(fight()))
    for field, value in (("percent", 99.0), ("stocks", 1)):
        state = fight()
        state.players[0, 0][field] = value
        changed = np.argwhere((np.asarray(draw(state)) != plain).any(-1))
        assert len(changed) > 10
        assert changed[:, 0].min() > HEIGHT - 60
        assert changed[:, 1].max() < WIDTH / 2


def test_every_group_of_actions_has_a_pose():
    assert set(actions.CATEGORIES) - set(POSES) == {"dead", "other"}


@pytest.mark.parametrize("category", sorted(POSES))
def test_figures_stand_on_the_ground_and_have_their_height(category):
    for frame, build in itertools.product((0, 7, 30), (Build(), *BUILDS.values())):
        pose = pose_of(category, frame)
        bones = skeleton(pose, 10.0, build)
        joints = [joint for limb in (*bones.front, *bones.back) for joint in limb]
        assert all(abs(x) < 12 and -6 < y < 16 for x, y in [*joints, bones.head])
        if not pose.turn:
            assert min(y for _, y in joints) == pytest.approx(0.0, abs=1e-9)


def film(seconds, skip=1):
    state, recorder = fight(), Recorder()
    for frame in range(0, seconds * 60, skip):
        state.game["frame"] = frame
        state.players[0, 0]["x"] = -20 + frame * 0.3
        recorder.take(state)
    return recorder


@pytest.mark.parametrize("skip", [1, 4])
def test_film_has_its_pictures_a_second_whatever_the_frame_skip(skip):
    pictures = list(film(2, skip).pictures(NAMES, fps=20))
    assert len(pictures) == 40 if skip == 1 else 39 <= len(pictures) <= 40
    assert list(Recorder().pictures(NAMES, fps=20)) == []


def test_gif(tmp_path):
    path = tmp_path / "fight.gif"
    pictures = list(film(2).pictures(NAMES, fps=20))
    size = write_gif(pictures, path, fps=20)
    assert list(tmp_path.iterdir()) == [path]
    assert size == path.stat().st_size < 300_000
    with Image.open(path) as gif:
        assert gif.n_frames == 40
        assert gif.info["duration"] == 50
        assert gif.info["loop"] == 0
        gif.seek(39)
        shown = np.asarray(gif.convert("RGB")).astype(int)
    assert np.abs(shown - np.asarray(pictures[39])).mean() < 3
    with pytest.raises(ValueError, match="no picture"):
        write_gif([], path, fps=20)
    with pytest.raises(ConfigError, match="cannot write"):
        write_gif(pictures[:1], path / "inside a file.gif", fps=20)
