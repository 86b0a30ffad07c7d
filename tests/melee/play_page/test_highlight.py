"""The moment that a result opens with; the cases are in ``highlight_cases.js``."""

from pathlib import Path

import pytest

from tests.support.node import case_names, needs_node, run_cases

pytestmark = needs_node
HERE = Path(__file__).parent
VIEW = HERE.parents[2] / "envs" / "selfplay_melee" / "play_page" / "view"
CASES = HERE / "highlight_cases.js"
NAMES = case_names(CASES)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return run_cases(tmp_path_factory.mktemp("highlight"), VIEW / "highlight.js", CASES)


def test_all_cases_are_known(told):
    assert list(told) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_highlight(told, name):
    assert not told[name], told[name]
