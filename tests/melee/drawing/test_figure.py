import itertools

import numpy as np
import pytest
from PIL import Image, ImageDraw

from selfplay_melee import actions
from selfplay_melee.drawing import moves
from selfplay_melee.drawing.figure import JOINTS, figure_of, rig_of
from selfplay_melee.drawing.looks import CharacterLook, look_of
from selfplay_melee.drawing.poses import ATTACKS, POSES, Timing, pose_at
from selfplay_melee.tables import CHARACTERS, load_tables

FEET = [JOINTS.index(name) for name in ("foot", "back_foot")]
HAND = JOINTS.index("hand")
TIMING = Timing(first=10, last=12, end=30)


def test_every_group_of_actions_has_a_pose():
    assert set(actions.CATEGORIES) - set(POSES) == {"dead", "other"}
    assert set(POSES) >= ATTACKS


@pytest.mark.parametrize("category", sorted(POSES))
def test_figures_stand_on_the_ground_and_have_their_height(category):
    for frame, character in itertools.product((0, 7, 30), (1, 4, 12, 16, 18)):
        look, pose = look_of(character), pose_at(category, frame)
        joints = figure_of(look, pose)
        assert joints.shape == (len(JOINTS), 2)
        assert (np.abs(joints) < 1.6 * look.height).all()
        if not pose[-1]:
            assert joints[FEET, 1].min() >= -1e-5


@pytest.mark.parametrize("character", [*range(27), 77])
def test_every_character_has_a_figure(character):
    look = look_of(character)
    rig = rig_of(look)
    parts = [part for layer in rig for part in layer]
    assert all(0 <= joint < len(JOINTS) for part in parts for joint in part.joints)
    tall = figure_of(look, pose_at("wait", 0))[JOINTS.index("head"), 1] + look.head * look.height
    assert tall == pytest.approx(look.height, rel=0.25)
    assert look.shield_radius > 0


def silhouette(character):
    """Which of 100 x 100 pixels a standing figure of 60 pixels covers, its colours left out."""
    look = look_of(character)
    joints, unit = figure_of(look, pose_at("wait", 0)), 60 / look.height
    image = Image.new("1", (100, 100))
    draw = ImageDraw.Draw(image)
    for part in (part for layer in rig_of(look) for part in layer):
        places = [(45 + x * unit, 85 - y * unit) for x, y in part.places(joints)]
        if part.kind == "line":
            draw.line(places, 1, round(part.size * unit))
        elif part.kind == "polygon":
            draw.polygon(places, 1)
        else:
            draw.circle(places[0], part.size * unit, 1)
    return np.asarray(image)


def test_no_two_characters_have_the_same_look():
    """Popo and Nana differ in colours alone, as in the game."""
    rigs = {character: rig_of(look_of(character)) for character in range(27)}
    paints = {n: tuple(part.paint for layer in rig for part in layer) for n, rig in rigs.items()}
    assert len(set(rigs.values())) == len(set(paints.values())) == len(rigs)


def test_characters_of_the_mock_are_told_apart_by_their_outlines():
    shapes = {name: silhouette(character) for name, character in CHARACTERS.items()}
    for (one, a), (other, b) in itertools.combinations(shapes.items(), 2):
        assert (a ^ b).sum() > 0.14 * (a | b).sum(), (one, other)


def test_shapes_turn_with_the_body_that_they_follow():
    look = look_of(CHARACTERS["marth"])
    blade = next(part for layer in rig_of(look) for part in layer if part.kind == "polygon" and part.joints[0] == HAND)
    joints = figure_of(look, pose_at("wait", 0))
    turned = np.stack([-joints[:, 1], joints[:, 0]], axis=1)
    there = blade.places(joints)
    np.testing.assert_allclose(blade.places(turned), np.stack([-there[:, 1], there[:, 0]], axis=1), atol=1e-4)
    assert np.hypot(*(there - joints[HAND]).T).max() == pytest.approx(0.68 * look.height, rel=0.01)


def test_heights_and_shields_are_those_of_the_tables():
    tables = load_tables()
    for name, character in CHARACTERS.items():
        row = tables.characters[tables.character_rows[character]]
        look = look_of(character)
        assert (look.height, look.shield_radius) == (row["hurt_height"], row["shield_radius"]), name
    assert look_of(250) == look_of(250)
    assert look_of(250).name == "Character 250"
    assert isinstance(look_of(-1), CharacterLook)


def test_attacks_wind_up_reach_out_and_come_back():
    rest, out = pose_at("ftilt", 0, TIMING), POSES["ftilt"]
    reach = [(pose_at("ftilt", frame, TIMING) - rest) @ (out - rest) for frame in range(40)]
    assert np.argmin(reach) in range(1, 10)
    assert reach[10] == reach[12] == pytest.approx(max(reach))
    assert reach[35] == pytest.approx(0)


def test_steps_swing_both_ways_and_tumbles_turn():
    thighs = [pose_at("run", frame)[5] for frame in range(30)]
    assert min(thighs) < -20 < 20 < max(thighs)
    assert pose_at("tumble", 10)[-1] - pose_at("tumble", 9)[-1] == pytest.approx(14)
    np.testing.assert_array_equal(POSES["run"], pose_at("run", 0) * 0 + POSES["run"])


def test_hit_circles_are_those_of_the_table_on_their_frames_only():
    tables = load_tables()
    action = tables.actions[tables.character_rows[CHARACTERS["fox"]], actions.FSMASH]
    hits = tables.hits[action["first_hit"] : action["first_hit"] + action["num_hits"]]
    frame = int(hits[0]["start"])
    on = [hit for hit in hits if hit["start"] <= frame <= hit["end"]]
    found = moves.circles(moves.Move(CHARACTERS["fox"], actions.FSMASH, frame))
    assert found[:, 2].tolist() == pytest.approx([float(hit["radius"]) for hit in on])
    assert not len(moves.circles(moves.Move(CHARACTERS["fox"], actions.FSMASH, int(hits["start"].min()) - 1)))
    for nobody in (moves.Move(250, actions.FSMASH, frame), moves.Move(-1, 30_000, frame)):
        assert not len(moves.circles(nobody))
        assert moves.figure(nobody).shape == (len(JOINTS), 2)
