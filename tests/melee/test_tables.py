import shutil
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from selfplay_melee import actions, tables
from selfplay_melee.dolphin import roster
from selfplay_melee.errors import TableError
from selfplay_melee.physics.memory import MEMORY
from selfplay_melee.state import CONTROLLER, GAME, PLAYER
from selfplay_melee.tables import CHARACTERS, STAGES, layout, load_tables
from selfplay_melee.tables.fits import DEFAULT_HULL
from selfplay_melee.tables.layout import ACTION, CHARACTER, GRAB_HIT, HIT, STAGE
from tests.support.processes import finish

FOLDER = Path(tables.__file__).parent
OTHERWISE = {("dk", "throw_f")}  # carries the other player
ATTACKS = (
    *("jab_1", "dash_attack", "ftilt", "utilt", "dtilt", "fsmash", "usmash", "dsmash"),
    *("nair", "fair", "bair", "uair", "dair"),
    *("catch", "catch_dash", "catch_attack", "throw_f", "throw_b", "throw_u", "throw_d"),
    *("down_attack", "cliff_attack_quick", "cliff_attack_slow"),
)


def action(character, name):
    loaded = load_tables()
    return loaded.actions[loaded.character_rows[CHARACTERS[character]], getattr(actions, name.upper())]


def hits(character, name):
    entry = action(character, name)
    return load_tables().hits[entry.first_hit : entry.first_hit + entry.num_hits]


def test_names_and_ids_are_libmelees():
    assert len(CHARACTERS) >= 8
    assert CHARACTERS.items() <= roster.CHARACTERS.items()
    assert STAGES == {
        "yoshis_story": 6, "fountain_of_dreams": 8, "pokemon_stadium": 18, "battlefield": 24, "final_destination": 25,
        "dreamland": 26,
    }  # fmt: skip


def test_rows_lead_back_to_ids():
    loaded = load_tables()
    for number in CHARACTERS.values():
        assert loaded.characters[loaded.character_rows[number]].id == number
    for number in STAGES.values():
        assert loaded.stages[loaded.stage_rows[number]].id == number
    assert loaded.character_rows[63] == -1


def test_tables_cannot_be_changed():
    tables = load_tables()
    for name in tables.dtype.names:
        assert not tables[name].flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        tables.hits[0].damage = 1.0


@pytest.mark.parametrize(
    "dtype", [CHARACTER, ACTION, HIT, STAGE, PLAYER, CONTROLLER, GAME, MEMORY, load_tables().dtype]
)
def test_no_field_is_hidden_by_an_attribute_of_numpy(dtype):
    """Uncompiled, ``record.size`` would be NumPy's size and not the field."""
    assert not set(dtype.names) & set(dir(np.void))


@pytest.mark.parametrize("character", sorted(CHARACTERS))
@pytest.mark.parametrize("name", ATTACKS)
def test_every_character_has_every_attack(character, name):
    if (character, name) in OTHERWISE:
        pytest.skip("the game has it as something else")
    entry, rows = action(character, name), hits(character, name)
    assert len(rows) > 0
    assert all(1 <= row.start <= row.end <= entry.frames for row in rows)
    assert any(row.damage > 0 or row.kind == GRAB_HIT for row in rows)


# Source: pfirsich/meleeFrameDataExtractor dumps.
@pytest.mark.parametrize(
    ("character", "name", "start", "end", "damage", "angle", "growth", "base"),
    [
        ("falco", "dair", 5, 14, 12, 290, 100, 10),
        ("marth", "fsmash", 10, 13, 14, 361, 70, 60),
        ("cptfalcon", "fair", 14, 16, 18, 32, 100, 24),
        ("sheik", "ftilt", 5, 10, 7, 74, 100, 40),
        ("jigglypuff", "bair", 9, 12, 12, 361, 100, 10),
        ("ganondorf", "dair", 16, 20, 22, 270, 100, 50),
        ("fox", "usmash", 7, 9, 18, 80, 112, 30),
        ("fox", "bair", 4, 7, 15, 361, 100, 0),
        ("fox", "jab_1", 2, 3, 4, 70, 100, 0),
        ("mewtwo", "fsmash", 18, 19, 12, 361, 80, 30),
        ("mewtwo", "fair", 5, 7, 14, 84, 100, 40),
        ("mewtwo", "dair", 18, 21, 16, 270, 100, 10),
    ],
)
def test_figures_of_known_moves(character, name, start, end, damage, angle, growth, base):
    row = hits(character, name)[0]
    assert (row.start, row.end, row.damage, row.angle) == (start, end, damage, angle)
    assert (row.kb_growth, row.kb_base) == (growth, base)


@pytest.mark.parametrize(
    ("character", "name", "frames", "iasa", "lag"),
    [
        ("fox", "nair", 49, 42, 15),
        ("fox", "dsmash", 49, 46, 0),
        ("mewtwo", "fair", 39, 36, 25),
        ("mewtwo", "bair", 31, 0, 28),
    ],
)
def test_lengths_of_known_moves(character, name, frames, iasa, lag):
    entry = action(character, name)
    assert (entry.frames, entry.iasa, entry.landing_lag) == (frames, iasa, lag)


def test_hits_with_a_pause_between_them_connect_again():
    assert {int(row.group) for row in hits("fox", "fair")} == set(range(5))
    assert {int(row.group) for row in hits("fox", "fsmash")} == {0}  # a late hit is not a second one


def test_what_most_characters_share_needs_no_line_and_gives_way_to_one():
    assert (action("ylink", "tech").intangible_to, action("ylink", "landing").frames) == (19, 30)
    assert (action("marth", "spot_dodge").intangible_to, action("ylink", "spot_dodge").intangible_to) == (17, 15)


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(FOLDER / "characters", tmp_path / "characters")
    shutil.copytree(FOLDER / "stages", tmp_path / "stages")
    shutil.copytree(FOLDER / "fitted", tmp_path / "fitted")
    return tmp_path


@pytest.fixture
def two(folder):
    """The tables of two characters, which are read in a fifth of the time."""
    for path in (*folder.glob("characters/*.toml"), *folder.glob("fitted/*.toml")):
        if path.stem not in ("fox", "mewtwo"):
            path.unlink()
    return folder


def test_a_new_character_is_one_new_file(folder):
    text = (folder / "characters/fox.toml").read_text().replace("id = 1 ", "id = 26 ", 1)
    (folder / "characters/roy.toml").write_text(text)
    loaded = load_tables(folder)
    assert loaded.characters[loaded.character_rows[26]].weight == 75


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "characters/fox.toml",
            "weight = 75.0",
            "weight = -1.0",
            r"fox.toml: attributes: weight must be from 1 to 200, got -1",
        ),
        ("characters/fox.toml", "weight = 75.0", "weight = 1" + "0" * 400, r"from 1 to 200, got 1000000.*\.\.\..*0$"),
        (
            "stages/battlefield.toml",
            "[-6.0, 64.98]",
            "[-6.0, 1" + "0" * 400 + "]",
            r"outline\[1\] must be 2 numbers from",
        ),
        ("stages/battlefield.toml", "[-6.0, 64.98]", "[-6.0, inf]", r"outline\[1\] must be 2 numbers from -10000 to"),
        ("characters/fox.toml", "weight = 75.0", "", r"fox.toml: attributes: weight is missing"),
        ("characters/fox.toml", "weight = 75.0", "weight = true", r"attributes: weight must be a number, got True"),
        (
            "characters/fox.toml",
            "weight = 75.0",
            "weight = 75.0\nwait = 1",
            r"fox.toml: attributes: wait is not a known field",
        ),
        (
            "characters/fox.toml",
            "[imported.jab_1]",
            "[imported.jab_one]",
            r"fox.toml: actions: jab_one is not a known action",
        ),
        (
            "characters/fox.toml",
            "[imported.jab_1]\nframes = 17",
            "[imported.jab_1]\nframes = 1.5",
            r"actions.jab_1: frames must be a whole number",
        ),
        (
            "characters/fox.toml",
            "[imported.jab_1]\nframes = 17",
            "[imported.jab_1]\nframes = 2",
            r"actions.jab_1: iasa is 16, after the last frame 2",
        ),
        ("characters/fox.toml", "start = 12, end = 16", "start = 16, end = 12", r"fsmash.hits\[0\]: start is 16"),
        ("characters/fox.toml", "start = 2, end = 3", "start = 1, end = 3", r"hits\[0\]: path has 2 points, .* need 3"),
        ("characters/fox.toml", 'kind = "grab"', 'kind = "hug"', r"catch.hits\[0\]: kind is 'hug', valid are"),
        ("characters/fox.toml", "sources = [", "origin = [", r"fox.toml: character: sources is missing"),
        ("characters/fox.toml", "id = 1 ", "id = 16 ", r"fox.toml: character id 16 is used by more than one file"),
        ("characters/fox.toml", "[character]", "[character", r"fox.toml: not valid TOML"),
        (
            "stages/battlefield.toml",
            "[0.0, -68.4, 68.4]",
            "[0.0, 68.4, -68.4]",
            r"stage: surfaces\[0\] must lie between",
        ),
        ("stages/battlefield.toml", "[[0.0, 68.4]", "[[0.0, 60.0]", r"stage: outline\[0\] must be the edge"),
        ("stages/battlefield.toml", "[-6.0, 64.98]", "[6.0, 64.98]", r"stage: outline\[1\] must go down"),
        ("stages/battlefield.toml", "[-6.0, 64.98]", "[-6.0]", r"stage: outline\[1\] must be 2 numbers"),
        ("stages/battlefield.toml", "blast_top = 200.0", "", r"battlefield.toml: stage: blast_top is missing"),
        (
            "stages/yoshis_story.toml",
            "floor = [[",
            "floor = [[90.0, 0.0], [",
            r"yoshis_story.toml: stage: floor must be 2 to 6 points from left to right",
        ),
        (
            "stages/yoshis_story.toml",
            'movement = "randall"',
            'movement = "kalos"',
            r"stage: movement is 'kalos', valid are still, fountain, randall",
        ),
        ("characters/fox.toml", 'drive = "flight"', 'drive = "fly"', r"specials.\d+: drive is 'fly', valid are"),
        ("characters/fox.toml", "up_ground = 353", "up_ground = 399", r"leads to 399, which is not among the specials"),
        ("characters/fox.toml", "glide = ", "glides = ", r"specials.\d+: glides is not a known field"),
        ("characters/fox.toml", 'kind = "laser"', 'kind = "beam"', r"hits\[\d\]: kind is 'beam', valid are"),
    ],
)
def test_a_bad_table_names_file_row_and_field(two, file, old, new, message):
    path = two / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(TableError, match=message):
        load_tables(two)


def test_fields_of_a_hit_are_named_in_the_file_as_in_the_table():
    text = (FOLDER / "characters/fox.toml").read_text()
    for name in ("radius", "damage", "angle", "kb_growth", "kb_base", "kb_fixed", "shield_damage"):
        assert name in layout.HIT.names
        assert f"{name} = " in text


HULL = """
[fit]
sources = ["nobody"]
[loops]
fall = 8
[hull]
default = 2.5
[hull.nair]
heights = [1.5, 2.0, 3.0]
landings = 4
misses = 2
uncertainty = 0.3
"""


def test_a_hull_changes_with_the_frames_and_keeps_its_last_height(folder):
    (folder / "fitted/fox.toml").write_text(HULL)
    tables = load_tables(folder)
    row = tables.character_rows[CHARACTERS["fox"]]
    assert tables.hull[row, actions.NAIR, [0, 1, 2, 3, 63]].tolist() == [1.5, 2.0, 3.0, 3.0, 3.0]
    assert (tables.hull[row, actions.FAIR] == 2.5).all()
    assert tables.actions[row, actions.FALL].loop == 8


def test_a_character_without_a_fitted_file_has_the_default_hull(folder):
    (folder / "fitted/fox.toml").unlink()
    tables = load_tables(folder)
    assert (tables.hull[tables.character_rows[CHARACTERS["fox"]]] == DEFAULT_HULL).all()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[1.5, 2.0, 3.0]", "[]", r"hull.nair: heights has 0 frames"),
        ("[1.5, 2.0, 3.0]", '"high"', r"hull.nair: heights must be a list of numbers"),
        ("hull.nair", "hull.nairs", r"hull: nairs is not a known action"),
        ("fall = 8", "fall = 0.5", r"loops: fall must be a whole number"),
        ("landings = 4", "landing = 4", r"hull.nair: landings is missing"),
    ],
)
def test_a_bad_fitted_file_is_named(folder, old, new, message):
    (folder / "fitted/fox.toml").write_text(HULL.replace(old, new, 1))
    with pytest.raises(TableError, match=f"fox.toml: {message}"):
        load_tables(folder)


UNFINISHED = """
import shutil, sys, warnings
from pathlib import Path
package = Path(sys.argv[1])
sys.path.insert(0, str(package.parent))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from selfplay_melee import tables
    names = sorted(tables.CHARACTERS)
print([str(warning.message) for warning in caught], names)
try:
    tables.check_readable("marth", "fox")
except tables.TableError as error:
    print(error)
"""


def test_an_unfinished_file_of_the_game_costs_that_character_only(tmp_path):
    copy = tmp_path / "envs/selfplay_melee"
    shutil.copytree(FOLDER.parent.parent, tmp_path / "envs", ignore=shutil.ignore_patterns("__pycache__"))
    path = copy / "tables/characters/fox.toml"
    path.write_text(path.read_text().replace("weight = ", "weigh = ", 1))
    run = [sys.executable, "-c", UNFINISHED, str(copy)]
    done = finish(run, cwd=FOLDER.parents[2], check=True)
    warned, refused = done.stdout.splitlines()
    assert "fox.toml: attributes: weight is missing; fox is left out" in warned
    assert "'fox'" not in warned.split("[")[2]
    assert "'marth'" in warned
    assert refused.endswith("fox.toml: attributes: weight is missing")


def test_compiled_functions_get_the_bytes_of_the_tables():
    tables = load_tables()
    assert tables.data.format == "B"
    assert np.frombuffer(tables.data, tables.dtype).tobytes() == tables.tobytes()
    assert tables.data.obj.ctypes.data == tables.characters.ctypes.data


def test_tables_are_freed_after_a_compiled_function_took_their_address():
    tables = layout.with_arrays(load_tables())
    array = weakref.ref(tables.base)
    assert len(tables.data) == tables.nbytes
    del tables
    assert array() is None
