import tomllib

import numpy as np
import pytest

from scripts.studies.fit_character import hull
from scripts.studies.fit_character.bounds import BOUND, NONE, bounds
from scripts.studies.fit_character.loops import fit_loops
from scripts.studies.fit_character.published import read_published
from scripts.studies.fit_character.write import text
from selfplay_melee import actions as a
from selfplay_melee.errors import TableError
from selfplay_melee.tables import CHARACTERS, load_tables
from selfplay_melee.tables.layout import HULL_FRAMES
from tests.studies.test_fidelity import recorded

FOX = CHARACTERS["fox"]


def rows(heights, action=a.NAIR, seed=0, lean=0.0, each=12):
    """Landings and misses of a player with these heights, at depths of every size."""
    rng = np.random.default_rng(seed)
    made = np.zeros(each * len(heights), BOUND)
    made["character"], made["action"], made["lean"] = FOX, action, lean
    made["frame"] = np.repeat(np.arange(len(heights)), each)
    made["height"] = rng.uniform(0.0, 8.0, len(made))
    made["landing"] = made["height"] > heights[made["frame"]]
    return made


def test_heights_are_found_between_landings_and_misses():
    true = np.linspace(3.0, 6.0, 20)
    fitted = hull.fit_bounds([rows(true)])["fox"][a.NAIR]
    assert np.abs(fitted.heights[:20] - true).mean() < 0.4
    assert (fitted.landings, fitted.misses) == (
        int(rows(true)["landing"].sum()),
        int((~(rows(true)["landing"] > 0)).sum()),
    )
    assert 0.0 < fitted.uncertainty < 1.0


def test_one_impossible_landing_changes_nothing():
    true = np.full(10, 4.0)
    found = rows(true, each=20)
    found["height"][found["landing"] == 1][0] = 0.1
    assert np.abs(hull.fit_bounds([found])["fox"][a.NAIR].heights[:10] - 4.0).max() < 0.4


def test_what_leaning_adds_is_found():
    upright, back = rows(np.full(8, 2.0), a.FALL), rows(np.full(8, 4.0), a.FALL, seed=1, lean=-1.0)
    fitted = hull.fit_bounds([upright, back])["fox"]
    assert fitted[a.FALL].heights.mean() == pytest.approx(2.0, abs=0.5)
    assert fitted[a.FALL_B].heights.mean() == pytest.approx(4.0, abs=0.5)


def test_a_character_takes_what_it_lacks_from_one_with_the_same_animations():
    other = rows(np.full(8, 5.0))
    other["character"] = CHARACTERS["falco"]
    fitted = hull.fit_bounds([rows(np.full(8, 3.0), a.BAIR), other])["fox"]
    assert fitted[a.NAIR].heights.mean() == pytest.approx(5.0, abs=0.5)
    assert fitted[a.NAIR].landings == 0


def test_published_heights_stay_until_replays_contradict_them():
    published = {a.NAIR: np.full(HULL_FRAMES, 3.333), a.BAIR: np.full(HULL_FRAMES, 3.333)}
    found = [rows(np.full(20, 3.333)), rows(np.full(20, 5.0), a.BAIR)]
    fitted = hull.fit_bounds(found, {"fox": published})["fox"]
    np.testing.assert_array_equal(fitted[a.NAIR].heights, published[a.NAIR])
    assert fitted[a.BAIR].heights[:20] == pytest.approx(5.0, abs=0.5)


def test_a_published_character_needs_no_replays():
    published = {a.FALL: np.linspace(1.0, 2.0, HULL_FRAMES)}
    fitted = hull.fit_bounds([rows(np.full(8, 3.0))], {"marth": published})["marth"]
    for fall in (a.FALL, a.FALL_F, a.FALL_B):
        np.testing.assert_array_equal(fitted[fall].heights, published[a.FALL])


def test_contradicted_heights_are_corrected_for_the_character_with_the_same_animations_too():
    published = {name: {a.NAIR: np.full(HULL_FRAMES, level)} for name, level in (("fox", 3.0), ("falco", 4.0))}
    fitted = hull.fit_bounds([rows(np.full(20, 5.0))], published)["falco"][a.NAIR]
    assert fitted.landings == 0
    assert fitted.heights[:20].mean() > 5.0


def test_published_files_name_their_source(tmp_path):
    assert all(curve.shape == (HULL_FRAMES,) for curves in read_published().values() for curve in curves.values())
    (tmp_path / "fox.toml").write_text("[heights]\nnair = [1.0]\n")
    with pytest.raises(TableError, match="sources is missing"):
        read_published(tmp_path)


@pytest.mark.full
def test_bounds_of_the_mocks_own_game_hold_for_the_hulls_that_it_has():
    replay = recorded(frames=1800)
    found = bounds(replay)
    found = found[found["action"] != NONE]
    assert found["landing"].sum() >= 3
    tables = load_tables()
    heights = tables.hull[tables.character_rows[found["character"]], found["action"], found["frame"]]
    upright = found["lean"] == 0.0
    wrong = np.where(found["landing"] == 1, found["height"] < heights - 0.01, found["height"] > heights + 0.01)
    assert wrong[upright].mean() <= 0.1


def test_a_fall_begins_again_after_as_many_frames_as_the_mock_has():
    made = fit_loops([recorded(frames=1800)])
    tables = load_tables()
    for name, lengths in made.items():
        row = tables.character_rows[CHARACTERS[name]]
        assert lengths.get("fall", tables.actions[row, a.FALL].loop) == tables.actions[row, a.FALL].loop


def test_a_file_is_toml_that_reads_back():
    content = {"fit": {"sources": ['a "b"']}, "hull": {"default": 2.5, "nair": {"heights": [0.25] * 60, "landings": 3}}}
    assert tomllib.loads(text(content)) == content
