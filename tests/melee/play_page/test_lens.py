"""What a fight that goes on changes of the camera's picture; the cases are in ``lens_cases.js``."""

from pathlib import Path

import pytest

from tests.support.node import case_names, needs_node, run_cases

pytestmark = needs_node
HERE = Path(__file__).parent
VIEW = HERE.parents[2] / "envs" / "selfplay_melee" / "play_page" / "view"
CASES = HERE / "lens_cases.js"
NAMES = case_names(CASES)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return run_cases(tmp_path_factory.mktemp("lens"), VIEW / "lens.js", CASES)


def test_all_cases_are_known(told):
    assert list(told) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_lens(told, name):
    assert not told[name], told[name]
