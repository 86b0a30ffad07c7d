"""Modules of the play page that need no facts; the cases of each are in ``MODULE_cases.js``.

``highlight`` finds the moment that a result opens with, ``lens`` what a fight that goes on changes of the camera's
picture.
"""

from pathlib import Path

import pytest

from tests.support.node import case_names, needs_node, run_cases

pytestmark = needs_node
HERE = Path(__file__).parent
VIEW = HERE.parents[2] / "envs" / "selfplay_melee" / "play_page" / "view"
CASES = {module: HERE / f"{module}_cases.js" for module in ("highlight", "lens")}
NAMES = {module: case_names(cases) for module, cases in CASES.items()}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return {
        module: run_cases(tmp_path_factory.mktemp(module), VIEW / f"{module}.js", cases)
        for module, cases in CASES.items()
    }


@pytest.mark.parametrize("module", CASES)
def test_all_cases_are_known(told, module):
    assert list(told[module]) == NAMES[module]


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in NAMES.items() for name in names])
def test_case(told, module, name):
    assert not told[module][name], told[module][name]
