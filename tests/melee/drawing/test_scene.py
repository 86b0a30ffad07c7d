import numpy as np
import pytest

from selfplay_melee import actions
from selfplay_melee.drawing.camera import ASPECT, NARROWEST, ROOM, still_camera
from selfplay_melee.drawing.film import film_of
from selfplay_melee.drawing.items import DECORATION, LASER, THING
from selfplay_melee.drawing.scene import FROZEN, PLAIN, SAFE, SHAKE, scene_of
from selfplay_melee.drawing.scenery import NOWHERE, moving_platforms, scenery_of
from selfplay_melee.tables import STAGES, load_tables
from tests.melee.drawing.fights import film, replay


def with_seat_0(**fields):
    """A scene in which seat 0 has these fields from the first frame on."""

    def change(now, frame):
        for name, value in fields.items():
            now.players[0, 0][name] = value

    return scene_of(film(12, change=change))


def test_players_are_drawn_where_the_film_has_them():
    made = film(120)
    shots = scene_of(made).shots
    np.testing.assert_allclose(shots["x"], made.players["x"], rtol=1e-6)
    assert (shots["facing"] == [1, -1]).all()
    assert not shots["gone"].any()


def test_a_frame_of_an_action_has_one_figure_however_often_it_is_shown():
    scene = scene_of(film(120))
    blue = scene.shots["figure"][:, 1]
    assert len(np.unique(blue)) == 1
    red = scene.shots["figure"][:60, 0]
    assert 20 < len(np.unique(red)) <= 60
    assert len(scene.figures) < len(scene.film) + 2


def test_circles_stand_on_the_frames_of_the_attack_only():
    scene = scene_of(film(120))
    count = np.array([len(scene.circles[int(shot["circles"])]) for shot in scene.shots[:, 0]])
    assert not count[:60].any()
    assert count[60:].any()
    assert not any(len(scene.circles[int(shot["circles"])]) for shot in scene.shots[:, 1])


@pytest.mark.parametrize(
    ("fields", "tint"),
    [
        ({}, PLAIN),
        ({"hitlag": 3}, FROZEN),
        ({"invulnerable": 1}, SAFE),
        ({"hitlag": np.nan, "hitstun": np.nan, "shield": np.nan}, PLAIN),
        ({"action": actions.SPOT_DODGE}, SAFE),
    ],
)
def test_tints(fields, tint):
    shots = with_seat_0(**fields).shots
    assert (shots["tint"] == [tint, PLAIN]).all()
    shake = 2 * SHAKE if tint == FROZEN else 0  # beside the 0.3 units that the player walks
    assert shots["x"][1, 0] - shots["x"][0, 0] == pytest.approx(0.3 - shake, abs=0.01)


def test_what_surrounds_a_player():
    full = with_seat_0(action=actions.GUARD, shield=60).shots["shield"][0, 0]
    half = with_seat_0(action=actions.GUARD, shield=30).shots["shield"][0, 0]
    none = with_seat_0(action=actions.WAIT, shield=30).shots["shield"][0, 0]
    assert full > half > none == 0
    assert with_seat_0(hitstun=5).shots["sparks"][:, 0].all()
    assert with_seat_0(action=actions.REBIRTH_WAIT).shots["halo"][:, 0].all()
    dead = with_seat_0(action=actions.DEAD_DOWN, action_frame=10, hitstun=5).shots[0, 0]
    assert (bool(dead["gone"]), int(dead["rays"]), bool(dead["sparks"])) == (True, 20, False)


def test_strange_numbers_of_a_replay_are_drawn_as_something():
    of = replay(4)
    players = of.state.players
    players["action"][0], players["character"][1], players["action_frame"][2] = 40_000, -1, np.nan
    players["x"][3], players["facing"][3], of.state.game["stage"] = np.nan, 0, -1
    scene = scene_of(film_of(of))
    assert scene.scenery.name == NOWHERE
    assert np.isfinite(scene.shots["x"]).all()
    assert np.isfinite(scene.camera).all()


def test_the_camera_keeps_both_players_in_sight():
    def change(now, frame):
        now.players[0, 0]["x"], now.players[0, 1]["x"] = -20, 20 + min(frame, 120)

    scene = scene_of(film(300, change=change))
    x, _, width = scene.camera[290]
    assert x - width / 2 < -20 < 140 < x + width / 2
    assert (scene.camera[:, 2] >= NARROWEST - 0.01).all()
    assert np.abs(np.diff(scene.camera, axis=0)).max() < 3
    left, right, *_ = scene.scenery.blast
    assert (scene.camera[:, 0] - scene.camera[:, 2] / 2 >= left - 0.01).all()
    assert (scene.camera[:, 0] + scene.camera[:, 2] / 2 <= right + 0.01).all()


def test_the_camera_keeps_who_flies_up_in_sight():
    def change(now, frame):
        now.players[0, 1]["y"] = np.interp(frame, [100, 130, 160, 260], [0, 195, 195, 0])  # 6.5 units a frame

    scene = scene_of(film(400, change=change))
    x, y, width = scene.camera.T.astype(np.float64)
    height = width / ASPECT
    shots = scene.shots
    assert (np.abs(shots["x"] - x[:, None]) < width[:, None] / 2).all()
    assert (shots["y"].max(1) + scene.looks[1].height / 2 < y + height / 2).all()  # the highest, and most of its figure
    assert (shots["y"].min(1) > y - (0.5 - ROOM) * height).all()  # the lowest, above the percents
    assert np.abs(np.diff(scene.camera, axis=0)).max() < 10
    assert width[145] > 2 * width[50]


def test_a_gap_in_a_film_does_not_lengthen_the_work_on_its_camera():
    of = film(40)
    of.frames[20:] += 10**9
    assert np.isfinite(scene_of(of).camera).all()


def test_the_camera_waits_where_a_player_died():
    def change(now, frame):
        red = now.players[0, 0]
        red["action"], red["x"] = (actions.DEAD_DOWN, 1e4) if frame >= 30 else (actions.WAIT, -60)

    scene = scene_of(film(200, change=change))
    assert scene.camera[150, 0] == pytest.approx(scene.camera[20, 0], abs=2)


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_sceneries_are_those_of_the_tables(stage):
    scenery = scenery_of(STAGES[stage])
    tables = load_tables()
    row = tables.stages[tables.stage_rows[STAGES[stage]]]
    assert len(scenery.floors) + len(scenery.movers) == row["num_surfaces"]
    assert scenery.edge == pytest.approx(row["surface_right"][0], abs=0.01)
    (body,) = scenery.bodies
    assert np.ptp(body[:, 0]) >= 2 * scenery.edge - 0.01
    width = still_camera(scenery)[2]
    assert 2 * scenery.edge < width < scenery.blast[1] - scenery.blast[0]


def test_platforms_move():
    fountain = film(8, stage="fountain_of_dreams", change=lambda now, t: now.game.__setitem__("fountain_right", 10 + t))
    moving = moving_platforms(fountain, scenery_of(fountain.stage))
    assert moving[:, 0, 2].tolist() == [20] * 8
    assert moving[:, 1, 2].tolist() == [10 + t for t in range(8)]
    assert (moving[:, 0, 1] < 0).all()
    assert (moving[:, 1, 0] > 0).all()
    unknown = film_of(replay(4, stage="fountain_of_dreams"))
    np.testing.assert_array_equal(
        moving_platforms(unknown, scenery_of(unknown.stage))[0], scenery_of(unknown.stage).movers
    )
    assert moving_platforms(film(4), scenery_of(STAGES["final_destination"])).shape == (4, 0, 3)


def test_the_cloud_goes_round():
    loop = film(1300, stage="yoshis_story")
    cloud = moving_platforms(loop, scenery_of(loop.stage))[:, 0]
    assert cloud[0] == pytest.approx(cloud[1200], abs=0.01)
    np.testing.assert_allclose(cloud[:, 1] - cloud[:, 0], 11.9, atol=0.01)
    assert cloud[:, 0].min() < -100
    assert cloud[:, 1].max() > 100
    assert np.abs(np.diff(cloud[:, 0])).max() < 0.6


def test_items_are_streaks_balls_or_decoration():
    of = replay(8, items=8)
    of.items["type"] = [54, 99, 210, 74, 54, 54, 54, 54]
    of.items["vx"], of.items["vy"] = -5, 0
    scene = scene_of(film_of(of))
    assert scene.items["kind"].tolist() == [LASER, THING, DECORATION, *[LASER] * 4]
    assert np.abs(scene.items["way"][0]) == pytest.approx(np.pi)
    assert [len(scene.items_at(t)) for t in range(8)] == [1, 1, 1, 0, 1, 1, 1, 1]
