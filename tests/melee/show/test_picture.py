import numpy as np
import pytest
from PIL import Image

from selfplay_melee import actions
from selfplay_melee.drawing.camera import NARROWEST
from selfplay_melee.drawing.film import film_of
from selfplay_melee.drawing.overlay import COLOURS, HEIGHT, WIDTH
from selfplay_melee.drawing.picture import Painter
from selfplay_melee.drawing.scene import scene_of
from selfplay_melee.tables import STAGES
from tests.melee.drawing.fights import film, replay
from tests.support.cases import first_alone

RED, BLUE = COLOURS


def draw(change=None, stage="final_destination", **options):
    """The first frame of a film."""
    return Painter(scene_of(film(2, stage=stage, change=change)), **options).picture(0)


def with_seat(seat, **fields):
    def change(now, frame):
        for name, value in fields.items():
            now.players[0, seat][name] = value

    return change


def pixels(image, colour, box=(0, 0, WIDTH, HEIGHT - 60)):
    """Columns and rows that have exactly this colour, the names and percents left out."""
    rows, columns = np.nonzero((np.asarray(image.crop(box)) == colour).all(-1))
    return columns, rows


@pytest.mark.parametrize("stage", first_alone(sorted(STAGES)))
def test_every_group_of_actions_can_be_drawn(stage):
    kinds = np.unique(actions.CATEGORY_OF, return_index=True)[1]

    def change(now, frame):
        now.players[0, 0]["action"], now.players[0, 1]["action"] = kinds[frame], kinds[-1 - frame]

    painter = Painter(scene_of(film(len(kinds), stage=stage, change=change)))
    assert {painter.picture(t).size for t in range(len(kinds))} == {(WIDTH, HEIGHT)}


def test_players_stand_where_the_state_says():
    for x in (-20, 0):
        image = draw(with_seat(0, x=x))
        (red, _), (blue, _) = pixels(image, RED), pixels(image, BLUE)
        assert len(red) > 50
        assert np.median(blue) - np.median(red) == pytest.approx((20 - x) * WIDTH / NARROWEST, abs=30)
        assert np.median(blue) + np.median(red) == pytest.approx(WIDTH, abs=30)


def test_players_are_larger_where_they_are_close():
    far, near = (pixels(draw(with_seat(1, x=x), texts=False), RED)[0] for x in (160, 20))
    assert len(near) > 1.5 * len(far)


def test_who_is_outside_is_shown_at_the_edge():
    columns, rows = pixels(draw(with_seat(1, y=260)), BLUE)
    assert len(columns) > 10
    assert rows.max() < 40


@pytest.mark.parametrize(
    "fields",
    [
        {"action": actions.GUARD},
        {"hitlag": 4},
        {"hitstun": 9},
        {"invulnerable": 1},
        {"action": actions.REBIRTH_WAIT},
        {"action": actions.DEAD_DOWN, "y": -150},
    ],
)
def test_what_happens_to_a_player_is_visible(fields):
    plain = np.asarray(draw())
    assert (np.asarray(draw(with_seat(0, **fields))) != plain).any(-1).sum() > 50


def test_hit_circles_are_shown_on_their_frames_only():
    scene = scene_of(film(120))
    painter = Painter(scene)
    shown = [np.asarray(painter.picture(t))[: HEIGHT - 60].astype(int) for t in range(60, 100)]
    glow = [((r > 150) & (g > 120) & (b < 130)).sum() for r, g, b in (np.moveaxis(image, -1, 0) for image in shown)]
    hits = [bool(len(scene.circles[int(scene.shots["circles"][t, 0])])) for t in range(60, 100)]
    found = {on: [count for count, hit in zip(glow, hits, strict=True) if hit is on] for on in (True, False)}
    assert min(found[True]) > max(found[False]) + 50


@pytest.mark.parametrize(
    ("action", "x", "y", "middle"),
    [(actions.DEAD_LEFT, -246, 0, 0.2), (actions.DEAD_UP, 0, 188, None), (actions.DEAD_RIGHT, 246, 0, 0.8)],
)
def test_a_burst_has_the_colour_of_who_lost_the_stock_and_shoots_inwards(action, x, y, middle):
    burst = draw(with_seat(1, action=action, action_frame=8, x=x, y=y), texts=False)
    columns, rows = pixels(burst, BLUE)
    assert len(columns) > 500
    if middle is None:
        assert np.median(rows) < HEIGHT / 2
    else:
        assert np.median(columns) == pytest.approx(middle * WIDTH, abs=0.2 * WIDTH)


def test_move_and_combo_are_over_the_box_of_the_seat():
    def change(now, frame):
        now.players[0, 1]["percent"], now.players[0, 1]["hitstun"] = 10 * frame, 9

    scene = scene_of(film(64, change=change))
    with_texts, without = (np.asarray(Painter(scene, texts=texts).picture(62)) for texts in (True, False))
    over = (with_texts != without).any(-1)[HEIGHT - 92 : HEIGHT - 58]
    assert over[:, : WIDTH // 2].sum() > 200
    assert not over[:, WIDTH // 2 :].any()


@pytest.mark.parametrize(("field", "value"), [("percent", 99.0), ("stocks", 1)])
def test_percent_and_stocks_are_in_the_box_of_the_seat(field, value):
    changed = np.argwhere((np.asarray(draw(with_seat(0, **{field: value}))) != np.asarray(draw())).any(-1))
    assert len(changed) > 10
    assert changed[:, 0].min() > HEIGHT - 60
    assert changed[:, 1].max() < WIDTH / 2


def test_texts_can_be_left_out():
    assert (np.asarray(draw(texts=False)) != np.asarray(draw())).any(-1).sum() > 1000


def test_things_are_drawn():
    of = replay(4, items=4)
    of.items["type"], of.items["x"], of.items["y"] = [54, 99, 210, 74], 0, 10
    scene = scene_of(film_of(of))
    painter = Painter(scene)
    shown = [np.asarray(painter.picture(t)).astype(int) for t in range(4)]
    seen = [(np.abs(shown[t] - shown[3]).sum(-1) > 60).sum() for t in range(3)]
    assert min(seen) > 10
    assert isinstance(painter.picture(0), Image.Image)
