"""Keyboard and controllers of the play page, without a browser; the cases are in ``controls_cases.js``."""

import json
from pathlib import Path

import pytest

from selfplay_melee.browser.scene import controller_facts
from tests.support.node import case_names, needs_node, run_cases

pytestmark = needs_node
HERE = Path(__file__).parent
VIEW = HERE.parents[2] / "envs" / "selfplay_melee" / "play_page" / "view"
CASES = HERE / "controls_cases.js"
NAMES = case_names(CASES)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    modules = [VIEW / name for name in ("keyboard.js", "gamepad.js", "touch.js", "controls.js", "hints.js")]
    folder = tmp_path_factory.mktemp("controls")
    (folder / "controller.json").write_text(json.dumps(controller_facts()))
    return run_cases(folder, *modules, CASES, words=[folder / "controller.json"])


def test_all_cases_are_known(told):
    assert list(told) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_controls(told, name):
    assert not told[name], told[name]
