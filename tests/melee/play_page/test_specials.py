"""The list of special moves and presses that start none; the cases are in ``specials_cases.js``."""

import json
from pathlib import Path

import pytest

from selfplay_melee.browser.scene import controller_facts
from selfplay_melee.play_page.page import SPECIAL_MOVES
from selfplay_melee.play_page.special_slots import special_slots
from tests.support.node import case_names, needs_node, run_cases

pytestmark = needs_node
HERE = Path(__file__).parent
VIEW = HERE.parents[2] / "envs" / "selfplay_melee" / "play_page" / "view"
CASES = HERE / "specials_cases.js"
NAMES = case_names(CASES)
CHARACTERS = {"dk": "Donkey Kong", "fox": "Fox"}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("specials")
    # Slots of today: those that the tables get later do not change what the page says of an empty one.
    slots = {"dk": (1, 1, 0, 0, 0, 1, 1, 2), "fox": special_slots("fox")}
    facts = {
        "controller": controller_facts(),
        "special_moves": SPECIAL_MOVES,
        "characters": [{"label": label, "specials": slots[name]} for name, label in CHARACTERS.items()],
    }
    (folder / "facts.json").write_text(json.dumps(facts))
    return run_cases(folder, VIEW / "specials.js", CASES, words=(folder / "facts.json",))


def test_all_cases_are_known(told):
    assert list(told) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_specials(told, name):
    assert not told[name], told[name]
