"""Games as links; the cases are in ``share_cases.js``."""

from pathlib import Path

import pytest

from tests.melee.browser.test_live_film import MODULES as FILM
from tests.melee.browser.test_live_film import MOMENT
from tests.policy.browser.test_browser_policy import MODULES as POLICY
from tests.support.node import case_names, needs_node, run_cases

pytestmark = needs_node
HERE = Path(__file__).parent
VIEW = HERE.parents[2] / "envs" / "selfplay_melee" / "play_page" / "view"
CASES = HERE / "share_cases.js"
MODULES = (*POLICY, *FILM, MOMENT, VIEW / "match.js", VIEW / "share.js")
NAMES = case_names(CASES)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return run_cases(tmp_path_factory.mktemp("share"), *MODULES, CASES)


def test_all_cases_are_known(told):
    assert list(told) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_link(told, name):
    assert not told[name], told[name]
